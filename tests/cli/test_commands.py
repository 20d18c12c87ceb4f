"""The commands that read no capture."""

from __future__ import annotations

import shlex

import jsonschema
import pytest

from kernelprof.analysis.metrics.catalogue import presets
from kernelprof.analysis.ncu_command import format_ncu_command
from kernelprof.analysis.rules import load_rules


@pytest.fixture(autouse=True)
def _width(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_presets_lists_all(kernelprof) -> None:
    out = kernelprof("presets").out
    title, _, _, *lines = out.splitlines()
    assert title == "Metric presets"
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [*presets()]
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_preset_shows_names_units_and_reasons(kernelprof) -> None:
    kernelprof(
        "presets coalescing",
        out="\nglobal_load_sectors (sector)\nl1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\n",
    )


def test_command_prints_the_ncu_command_and_nothing_else(kernelprof) -> None:
    program = ["./app", "a b", "--debug", "$HOME"]
    out = kernelprof("command --preset dram --", *program, err="").out
    assert out.count("\n") == 1
    assert shlex.split(out) == format_ncu_command("dram", application=program)
    assert shlex.split(out)[-4:] == program


def test_command_takes_filters_and_clocks(kernelprof) -> None:
    options = "--kernel gemm --launch-skip 2 --launch-count 1"
    words = shlex.split(
        kernelprof(f"command --preset dram {options} --clock-control none -- ./x").out
    )
    assert words[words.index("--launch-skip") + 1] == "2"
    assert words[words.index("--launch-count") + 1] == "1"
    assert words[words.index("--clock-control") + 1] == "none"
    assert "gemm" in words[words.index("--kernel-name") + 1]


def test_command_without_a_program_has_a_placeholder(kernelprof) -> None:
    assert kernelprof("command --preset dram").out.endswith("./app args...\n")


@pytest.mark.parametrize("slug", list(load_rules()))
def test_explain(kernelprof, slug: str) -> None:
    out = kernelprof(f"explain {slug}", out="\nWhat to do ──").out
    assert out.startswith(f"{slug}: {load_rules()[slug].title}\n")


def test_explain_in_markdown(kernelprof) -> None:
    assert kernelprof("explain small-grid --format markdown").out.startswith(
        "### small-grid: Grid too small for the GPU\n\n"
    )


def test_explain_without_a_name_lists_all(kernelprof) -> None:
    out = kernelprof("explain").out
    assert all(f"{slug} " in out for slug in load_rules())


@pytest.mark.parametrize(
    ("arguments", "document"),
    [
        ([], "diagnosis"),
        (["diagnosis"], "diagnosis"),
        (["comparison"], "comparison"),
        (["gate"], "gate"),
    ],
)
def test_schema(kernelprof, arguments: list[str], document: str) -> None:
    found = kernelprof("schema", *arguments).json
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$id"] == f"urn:kernelprof:{document}:v1"
