"""``compute-sanitizer``: what is shown of its words, and what its exit code means."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from tests.conftest import CAPTURES
from tests.launch.conftest import stand_in

from kernelprof.errors import MissingToolError
from kernelprof.launch.processes import Interrupts
from kernelprof.launch.run.faults import found_something, run_sanitizer, tool_findings
from kernelprof.launch.run.trial import LaunchError

if TYPE_CHECKING:
    from pathlib import Path

WRITE = (
    " Error: Race reported between Write access at turn(const float *, float *)+0xf0 in races.cu:28"
)
READ = "     and Read access at turn(const float *, float *)+0x100 in races.cu:29 [4096 hazards]"
SUMMARY = " RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"
SHOWN = "\n".join((WRITE, READ, SUMMARY))
RACE = "".join(f"========={line}\n" for line in (" COMPUTE-SANITIZER", WRITE, READ, " ", SUMMARY))


def recorded(name: str) -> str:
    """What ``compute-sanitizer`` of CUDA 13.0 wrote on an H200."""
    data = (CAPTURES / "sanitizer" / name).read_bytes()
    return (gzip.decompress(data) if name.endswith(".gz") else data).decode()


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Puts a ``compute-sanitizer`` on the search path that says a text and ends with a code."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def put(text: str, code: int) -> Path:
        (tmp_path / "said").write_text(text)
        lines = (f"echo \"$@\" > '{tmp_path}/asked'", f"/bin/cat '{tmp_path}/said'", f"exit {code}")
        stand_in(folder / "compute-sanitizer", *lines)
        monkeypatch.setenv("PATH", str(folder))
        return folder

    return put


def test_a_finding_is_shown_without_the_frame_around_it() -> None:
    assert tool_findings(RACE) == SHOWN


def test_lines_of_the_program_and_of_the_host_are_left_out() -> None:
    noise = [
        "what the program prints",
        "=========     Saved host backtrace up to driver entry point at kernel launch time",
        "=========         Host Frame: [0x2f6c0f] in libcuda.so.1",
        "========= Target application returned an error",
    ]
    head, *rest = RACE.splitlines()
    assert tool_findings("\n".join([noise[0], head, *noise[1:], *rest])) == SHOWN


@pytest.mark.parametrize(("count", "left_out"), [(15, 0), (16, 0), (17, 1), (100, 84)])
def test_of_many_lines_the_first_and_the_last_are_shown(count, left_out) -> None:
    lines = [f" line {number}" for number in range(count)]
    shown = tool_findings(
        "\n".join(f"========={line}" for line in [*lines, " SUMMARY"])
    ).splitlines()
    if not left_out:
        assert shown == [*lines, " SUMMARY"]
    else:
        assert shown == [*lines[:16], f" ... ({left_out} more)", " SUMMARY"]


def test_what_has_another_form_is_shown_as_it_is() -> None:
    assert tool_findings("  a text of its own\n") == "a text of its own"
    assert tool_findings("========= COMPUTE-SANITIZER\n") == "========= COMPUTE-SANITIZER"


def test_a_finding_is_an_error(tool, tmp_path) -> None:
    tool(RACE, 86)
    with pytest.raises(LaunchError) as caught:
        run_sanitizer("racecheck", ["python", "k.cu"], "races.cu", Interrupts())
    said = caught.value
    assert said.what == f"compute-sanitizer (racecheck) reported an error in the kernel:\n{SHOWN}"
    assert (said.where, said.exit_code) == ("races.cu", 2)
    asked = (tmp_path / "asked").read_text()
    assert asked == "--tool racecheck --error-exitcode 86 python k.cu\n"


def test_nothing_found_is_nothing_said(tool) -> None:
    tool("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", 0)
    run_sanitizer("memcheck", ["python", "k.cu"], "k.cu", Interrupts())


def test_a_program_that_fails_under_the_tool_is_not_a_finding_of_the_tool(tool) -> None:
    tool("kernelprof: it does not compile\n========= ERROR SUMMARY: 0 errors\n", 2)
    unclear = run_sanitizer("memcheck", ["python", "k.cu"], "k.cu", Interrupts())
    assert unclear.what.startswith("compute-sanitizer (memcheck) ended with exit code 2")
    assert unclear.exit_code == 4


def test_a_finding_counts_whatever_the_exit_code(tool) -> None:
    """With a fault the program fails, too, and the tool ends with the program's code."""
    tool(recorded("past_the_end.memcheck.txt.gz"), 2)
    with pytest.raises(LaunchError, match="reported an error"):
        run_sanitizer("memcheck", ["python", "k.cu"], "k.cu", Interrupts())


def test_what_the_tool_really_wrote() -> None:
    text = recorded("past_the_end.memcheck.txt.gz")
    assert found_something(text)
    shown = tool_findings(text).splitlines()
    assert shown[:2] == [
        " Invalid __global__ read of size 4 bytes",
        "     at saxpy(const float *, float *, float, int)+0xa0 in past_the_end.cu:39",
    ]
    assert shown[-1] == " ERROR SUMMARY: 26 errors"
    assert "pycuda" not in "".join(shown)
    assert found_something(recorded("races.racecheck.txt"))
    assert not found_something(recorded("right.memcheck.txt"))


def test_it_is_found_beside_nvcc(tool, tmp_path, monkeypatch) -> None:
    folder = tool(RACE, 86)
    stand_in(folder / "nvcc", "exit 1")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "nvcc").symlink_to(folder / "nvcc")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    with pytest.raises(LaunchError, match="reported an error"):
        run_sanitizer("racecheck", ["python", "k.cu"], "races.cu", Interrupts())


@pytest.mark.usefixtures("no_nvcc")
def test_without_it_there_is_the_way_to_get_it() -> None:
    with pytest.raises(MissingToolError) as caught:
        run_sanitizer("memcheck", ["python", "k.cu"], "k.cu", Interrupts())
    assert caught.value.what == "compute-sanitizer is not installed here"
    assert caught.value.exit_code == 4
    assert "https://developer.nvidia.com/cuda-downloads" in (caught.value.hint or "")
    assert (caught.value.hint or "").endswith("; or leave out --sanitize")
