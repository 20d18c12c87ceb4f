"""The reports that ship with the project: made by the commands that are told, byte for byte."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.few import few

if TYPE_CHECKING:
    from tests.conftest import RunCli

ROOT = Path(__file__).parent.parent
REPORTS = ROOT / "reports"
COMMANDS = [
    shlex.split(line.partition("-m kernelprof ")[2].partition(" || ")[0])
    for line in (ROOT / "Makefile")
    .read_text("utf-8")
    .partition("\nreports:")[2]
    .partition("\n\n")[0]
    .splitlines()[1:]
]
ONE_KERNEL = ("one-kernel", "source", "predicted", "comparison", "gate")
MOST_BYTES = dict.fromkeys(ONE_KERNEL, 400_000)


_NVRTC = re.compile(rb"NVRTC \d+(?:\.\d+)+")

CORPUS = "reports/corpus-h200.html"
"""Made by ``make corpus-report``; ``tests/benchmarks/corpus`` sees to its bytes."""


@pytest.mark.parametrize(
    "command",
    few(COMMANDS, COMMANDS[0], why="a page as the first"),
    ids=lambda command: Path(command[-1]).stem,
)
def test_a_report_is_what_its_command_makes(
    command: list[str], run_cli: RunCli, tmp_path: Path
) -> None:
    """Where this fails after a change of the pages or the captures: ``make reports``."""
    made = tmp_path / "report.html"
    run = run_cli(*command[:-1], str(made), cwd=ROOT)
    assert run.returncode == (1 if command[0] == "gate" else 0), run.stderr
    page, kept = made.read_bytes(), (ROOT / command[-1]).read_bytes()
    if set(_NVRTC.findall(page)) != set(_NVRTC.findall(kept)):
        pytest.skip("another NVRTC compiled the kernel, which can be other machine code")
    assert page == kept


def test_every_report_has_a_command_and_every_command_is_told() -> None:
    pages = {f"reports/{page.name}" for page in REPORTS.glob("*.html")}
    assert pages == {command[-1] for command in COMMANDS} | {CORPUS}
    told = (REPORTS / "README.md").read_text("utf-8")
    for command in COMMANDS:
        assert f"kernelprof {shlex.join(command)}" in told
    assert "`make corpus-report`" in told


def test_every_file_is_listed() -> None:
    told = (REPORTS / "README.md").read_text("utf-8")
    for path in REPORTS.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert f"`{path.relative_to(REPORTS)}`" in told, path


def test_pages_and_pictures_stay_small() -> None:
    for page in REPORTS.glob("*.html"):
        assert page.stat().st_size < MOST_BYTES.get(page.stem, 1_500_000), page.name
    for picture in (REPORTS / "screenshots").glob("*.png"):
        assert picture.stat().st_size <= 200_000, picture.name


def test_what_the_readme_shows_is_there() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"\((reports/[^)#]+)\)", readme)
    assert any(link.endswith(".png") for link in links)
    for link in links:
        assert (ROOT / link).is_file(), link
