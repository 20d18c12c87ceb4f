"""The table of opcodes, and the sets that derive from it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sassim
from kernelprof.analysis.stalls import blame as stalls
from sassim.faults import _KINDS
from sassim.gpu import GpuModel
from sassim.interpreter.control_flow import endings
from sassim.interpreter.operations import operations
from sassim.opcodes import (
    LOADS,
    MEMORY,
    OPCODES,
    STORES,
    find_opcode,
    flagged_opcodes,
    opcodes_with_flow,
    select_opcodes,
)
from sassim.timing.pipes import load_latencies, load_pipes

SOURCES = Path(sassim.__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("LDG", ("load", "global", "long", "load", "global load")),
        ("LDS", ("load", "shared", "short", "shared-memory load", "shared load")),
        ("STL", ("store", "local", "long", "local-memory store", "local store")),
        ("ST", ("store", "generic", "long", "store", "global store")),
        ("RED", ("atomic", "generic", "long", "atomic", "global reduction")),
        ("ATOMS", ("atomic", "shared", "short", "atomic", "shared atomic")),
        ("LDGSTS", ("copy", "", "long", "copy", "asynchronous copy")),
        ("UTMALDG", ("copy", "", "", "copy", "asynchronous copy")),
        ("TEX", ("texture", "", "long", "texture", "texture and surface")),
        ("LDC", ("constant", "constant", "short", "constant", "constant load")),
        ("FFMA", ("fp32", "", "", "arithmetic", "FP32 multiply-add")),
        ("DFMA", ("fp64", "", "short", "arithmetic", "FP64")),
        ("HFMA2", ("fp16", "", "", "arithmetic", "FP16")),
        ("IMAD", ("integer", "", "", "arithmetic", "integer multiply")),
        ("POPC", ("bits", "", "short", "special function", "special function")),
        ("MUFU", ("special", "", "short", "special function", "special function")),
        ("HMMA", ("mma", "", "", "product", "tensor")),
        ("HGMMA", ("wgmma", "", "", "product", "tensor")),
        ("SHFL", ("shuffle", "", "short", "shuffle", "shuffle, vote")),
        ("BAR", ("barrier", "", "", "barrier", "barrier")),
        ("SYNCS", ("mbarrier", "", "long", "wait for an mbarrier", "barrier")),
        ("DEPBAR", ("copy-wait", "", "", "wait for copies", "barrier")),
        ("MEMBAR", ("fence", "", "", "fence", "barrier")),
        ("BRA", ("branch", "", "", "branch", "branch and control")),
        ("UIADD3", ("uniform", "", "", "arithmetic", "uniform datapath")),
        ("NEW", ("", "", "", "arithmetic", "")),
    ],
)
def test_what_an_opcode_is(name: str, expected: tuple[str, ...]) -> None:
    """Its class, memory, scoreboard, name in a sentence, and kind in the instruction mix."""
    row = find_opcode(name)
    noun = stalls.kind(name)
    assert (row.category, row.space, row.scoreboard, noun, row.kind) == expected


def test_memory_that_opcodes_read_and_write() -> None:
    assert (LOADS["LDGSTS"], STORES["LDGSTS"]) == ("global", "shared")
    assert (LOADS["ATOM"], STORES["ATOM"]) == ("global", "global")
    assert (find_opcode("ATOM").reads, find_opcode("ATOM").writes) == ("generic", "generic")
    assert "STG" in MEMORY
    assert "STG" not in LOADS
    assert LOADS["LDC"] == "constant"
    # Operands of the uniform datapath, not accesses.
    assert not MEMORY & {"ULDC", "LDCU"}


def test_what_stall_analysis_counts_together() -> None:
    assert {"LDG", "LD", "LDGSTS"} == stalls.GLOBAL_LOADS
    assert {"STG", "ST"} == stalls.GLOBAL_STORES
    assert {"LDS", "LDSM", "STS", "STSM", "ATOMS"} == stalls.SHARED
    assert {"LDL", "STL"} == stalls.LOCAL
    assert {"POPC", "FLO", "BREV"} == stalls.SPECIAL & stalls.INTEGER
    assert {"HGMMA", "IGMMA", "QGMMA", "BGMMA"} < stalls.PRODUCTS
    assert {"DEPBAR", "WARPGROUP", "SYNCS", "UCGABAR_WAIT", "BAR"} == stalls.WAITERS
    assert not stalls.LONG & stalls.SHORT


def test_what_ends_a_basic_block() -> None:
    ends = select_opcodes(lambda row: row.ends_block)
    assert {"BRA", "EXIT", "CALL", "RET", "BSYNC", "WARPSYNC", "BAR", "BPT"} <= ends
    assert not ends & {"BSSY", "BMOV", "SYNCS", "NOP", "IMAD"}
    assert opcodes_with_flow("exit") == {"EXIT"}
    assert ends | {"SYNCS"} == set(endings())


def test_stores_that_need_not_be_executed_to_count() -> None:
    assert flagged_opcodes("omittable") == {"STG", "STS", "STL", "LDGSTS"}
    assert flagged_opcodes("omittable") <= set(STORES)


def test_rows_and_the_modules_that_they_are_about_fit() -> None:
    assert {*operations(), *endings()} <= set(OPCODES)
    assert {name for row in OPCODES.values() for name in row.pipes} == set(load_pipes())
    assert {row.latency for row in OPCODES.values()} - {""} <= set(load_latencies())
    assert all(hasattr(GpuModel, pipe.lanes_of) for pipe in load_pipes().values() if pipe.lanes_of)
    lines = (SOURCES / "sassim" / "data" / "opcodes.txt").read_text("utf-8").splitlines()
    rows = [each for each in lines if not each.startswith("#")][1:]
    assert len(rows) == len(OPCODES)


def test_the_table_needs_no_other_package() -> None:
    code = "import sys, sassim.opcodes; print(*{'numpy', 'kernelprof'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


def _names(node: ast.AST) -> list[str]:
    elements: list[ast.expr] = []
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        elements = node.elts
    elif isinstance(node, ast.Dict):
        elements = [each for each in node.keys if each is not None]
    constants = (each.value for each in elements if isinstance(each, ast.Constant))
    return [each for each in constants if isinstance(each, str) and each in OPCODES]


def test_no_other_module_lists_opcodes() -> None:
    """What a set of opcodes has in common is a column of the table."""
    lists = [
        f"{file.stem}: {ast.unparse(node)}"
        for file in sorted(SOURCES.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.expr) and len(_names(node)) > 1
    ]
    # Modifiers of IMAD, and the first letters of accesses.
    assert lists == ["opcode_mix: ('IADD', 'SHL', 'X')", f"faults: {_KINDS}"]
