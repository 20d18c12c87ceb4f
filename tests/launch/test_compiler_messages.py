"""What ``ptxas`` says of kernels that it compiles all the same, in its own words."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernelprof.launch.build import Built
from kernelprof.launch.built_files import keep, kept
from kernelprof.launch.compiler_messages import Spills, needed, shortened, spills, warnings
from kernelprof.launch.cubin import entries
from kernelprof.launch.nvcc import Workshop, scratch
from kernelprof.model.manifest import CompilerWarning

FOLDER = Path(__file__).parent / "ptxas"
ENTRIES = (
    *("right", "changes_accumulators", "reads_accumulators"),
    *("calls", "changes_registers", "spills"),
)
# Of a function that kernels call, and of none: these may be of any kernel.
ANYBODYS = {"nvcc-13.0.88": ["C7508", "C7519", "C7517"], "nvcc-13.5.37": ["C7508", "C7517"]}


@pytest.fixture(params=list(ANYBODYS))
def said(request) -> tuple[str, list[str]]:
    return (FOLDER / f"{request.param}.txt").read_text(), ANYBODYS[request.param]


@pytest.mark.parametrize(
    ("entry", "code", "words"),
    [
        ("spills", "C7511", "serialized due to insufficient register resources"),
        ("calls", "C7510", "serialized due to wgmma pipeline crossing function boundary"),
        (
            "reads_accumulators",
            "C7514",
            "reading accumulator registers of a wgmma between start and end of the pipeline stage",
        ),
        ("changes_accumulators", "C7517", "to allow use of registers defined by GMMA"),
    ],
)
def test_a_kernel_has_its_own_warnings(said, entry, code, words) -> None:
    text, anybodys = said
    found = warnings(text, entry, ENTRIES)
    (own,) = [each for each in found if each.function == entry]
    assert own.code == code
    assert words in own.text
    assert sorted(each.code for each in found if each is not own) == sorted(anybodys)


def test_a_right_kernel_has_only_those_that_nobody_can_place(said) -> None:
    text, anybodys = said
    found = warnings(text, "right", ENTRIES)
    assert [each.code for each in found] == anybodys
    assert {each.function for each in found} == {None, "_Z7productRA32_fmm"}
    assert found[0] == CompilerWarning(
        "C7508",
        "Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at "
        "entry.",
    )


def test_what_is_said_twice_is_one_warning(said) -> None:
    text, _ = said
    assert warnings(text + text, "calls", ENTRIES) == warnings(text, "calls", ENTRIES)


def test_what_is_spilled_is_that_of_the_kernel(said) -> None:
    text, _ = said
    found = spills(text, "spills")
    assert found is not None
    assert min(found) > 100
    assert spills(text, "right") == Spills(0, 0)
    assert spills(text, "spill") is None
    assert spills("", "right") is None


def test_the_compiler_that_is_here_says_it_in_these_words(tmp_path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("there is no nvcc here")
    source = (FOLDER / "warnings.cu").read_text()
    with scratch() as folder:
        done = Workshop(folder).cubin(source, ["-lineinfo"], "sm_90a", tmp_path)
    names = entries(done.cubin)
    assert set(names) == set(ENTRIES)
    found = {each.code for name in ENTRIES for each in warnings(done.said, name, names)}
    assert found >= {"C7508", "C7510", "C7511", "C7514", "C7517"}
    assert spills(done.said, "right") == Spills(0, 0)


def test_a_kernel_that_is_kept_is_found_again(tmp_path) -> None:
    file = tmp_path / "kernel.cubin"
    built = Built(
        cubin=b"\x7fELF\n\n\0",
        entry="k",
        options=("-lineinfo", "-O3"),
        arch="sm_90a",
        warnings=(CompilerWarning("C7508", "ignored"), CompilerWarning("C7510", "slow", "k")),
        spills=Spills(4, 8),
    )
    assert kept(file, "a") is None
    for each in (built, replace(built, warnings=(), spills=None)):
        keep(file, "a", each)
        assert kept(file, "a") == each
        assert kept(file, "b") is None
    file.write_bytes(b"k a\n\x7fELF")
    assert kept(file, "a") is None


def _errors(*texts: str) -> str:
    """As NVRTC gives what ``ptxas`` refuses."""
    lines = [
        f"ptxas application ptx input, line {number}; error   : {text}"
        for number, text in enumerate(texts, 64)
    ]
    return "\n".join([*lines, "ptxas fatal   : Ptx assembly aborted due to errors"])


CLUSTERS = "Feature '.cluster scope' requires .target sm_90 or higher"
WGMMA = "Instruction 'wgmma.fence' not supported on .target 'sm_80'"


def test_of_many_errors_the_first_are_shown_each_once() -> None:
    many = [CLUSTERS, CLUSTERS, *(f"Instruction 'i{n}' is unknown" for n in range(20))]
    lines = shortened(_errors(*many)).splitlines()
    assert len(lines) == 7
    assert lines[0].endswith(f"line 64; error   : {CLUSTERS}")
    assert lines[4].endswith("'i3' is unknown")
    assert lines[5].startswith("ptxas fatal")
    assert lines[6] == "and 17 more errors of ptxas"


def test_a_few_errors_and_what_else_compilers_say_stay_as_they_are() -> None:
    for text in (_errors(CLUSTERS, WGMMA), 'k.cu(3): error: expected a ";"\n  x\n  ^'):
        assert shortened(text) == text


@pytest.mark.parametrize(
    ("errors", "arch"),
    [
        ([CLUSTERS, "Modifier '.x' requires .target sm_80 or higher"], "sm_90"),
        ([CLUSTERS, WGMMA], "sm_90a"),
        (["Instruction 'tcgen05.alloc' not supported on .target 'sm_90a'"], "sm_100a"),
        (["Instruction 'wrong' is unknown"], None),
    ],
)
def test_what_the_code_needs_follows_from_the_errors(errors: list[str], arch: str | None) -> None:
    assert needed(_errors(*errors)) == arch
