"""The reports that ship with the project: made by the commands that are listed, byte for byte."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from tests.support.few import few
from tests.support.pages import CORPUS, REPORTS, ROOT, commands, digest_of, digests

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCli

COMMANDS = commands()
ONE_KERNEL = ("one-kernel", "source", "predicted", "comparison", "gate")
MOST_BYTES = dict.fromkeys(ONE_KERNEL, 400_000)
EXAMPLE = "one-kernel"
"""The page that README.md links, and the only one that is committed."""


@pytest.mark.parametrize("name", few([*COMMANDS], next(iter(COMMANDS)), why="a page as the first"))
def test_a_report_is_what_its_command_makes(name: str, run_cli: RunCli, tmp_path: Path) -> None:
    """Where this fails after a change of the pages or the captures: ``make reports``.

    It writes the pages to ``build/reports``, before and after the change, to be compared.
    """
    command = COMMANDS[name]
    made = tmp_path / "report.html"
    run = run_cli(*command[:-1], str(made), cwd=ROOT)
    assert run.returncode == (1 if command[0] == "gate" else 0), run.stderr
    digest, recorded = digest_of(made.read_bytes()), digests()[name]
    if digest.get("compiler") != recorded.get("compiler"):
        pytest.skip("another NVRTC compiled the kernel, which can be other machine code")
    assert digest == recorded


def test_every_report_has_a_command_and_every_command_is_listed() -> None:
    assert set(digests()) == {*COMMANDS, CORPUS}
    listed = (REPORTS / "README.md").read_text("utf-8")
    for command in COMMANDS.values():
        assert f"kernelprof {shlex.join(command)}" in listed
    assert "`make corpus-report`" in listed


def test_only_one_page_is_committed() -> None:
    assert [path.name for path in REPORTS.rglob("*.html")] == [f"{EXAMPLE}.html"]
    assert digest_of((REPORTS / f"{EXAMPLE}.html").read_bytes()) == digests()[EXAMPLE]


def test_every_file_is_listed() -> None:
    listed = (REPORTS / "README.md").read_text("utf-8")
    for path in REPORTS.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert f"`{path.relative_to(REPORTS)}`" in listed, path


def test_pages_and_pictures_stay_small() -> None:
    for name, digest in digests().items():
        assert int(digest["bytes"]) < MOST_BYTES.get(name, 1_500_000), name
    for picture in (REPORTS / "screenshots").glob("*.png"):
        assert picture.stat().st_size <= 200_000, picture.name


def test_what_the_readme_shows_is_there() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"\((reports/[^)#]+)\)", readme)
    assert any(link.endswith(".png") for link in links)
    for link in links:
        assert (ROOT / link).is_file(), link
