"""``--html`` of ``ladder run`` and ``ladder report``: what is written, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kernelprof.collect.recorded import FOLDER

REPORT = f"ladder report {Path(__file__).parents[2] / 'reports' / 'ladder-h200.json'}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("workshop")
def test_a_run_writes_the_page_and_keeps_its_results_beside_it(machine, results, kernelprof):
    printed = kernelprof("ladder run --rung 1 --captures caps --html climb.html")
    assert printed.out == "climb.html: 1 rung on NVIDIA H200\n"
    found = results(machine / "climb.json")
    assert found["command"].endswith("--rung 1 --captures caps --html climb.html")
    page = (machine / "climb.html").read_text(encoding="utf-8")
    assert "Naive takes 35.31 ms" in page
    # The stand-in's manifest is of no real file.
    assert "was made from another version of its file" in page


def test_the_page_alone_is_written_unless_the_other_report_is_named(here, kernelprof):
    written = "page.html: 13 rungs on NVIDIA H200\n"
    assert kernelprof(f"{REPORT} --html page.html").out == written
    assert [each.name for each in here.iterdir()] == ["page.html"]
    assert kernelprof(f"{REPORT} --html page.html -o report.md").out.startswith(written)
    assert (here / "report.md").is_file()


def test_captures_of_some_rungs_are_enough(here, kernelprof):
    shutil.copytree(FOLDER / "h200" / "03_shared_tile", here / "caps" / "03_shared_tile")
    kernelprof(f"{REPORT} --html page.html --captures caps")
    page = (here / "page.html").read_text(encoding="utf-8")
    assert page.count('id="rung-3"') == 1
    assert page.count("No capture of this rung was found") == 12


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sha256": "0" * 64}, "from another version of its file"),
        ({"specification": {"sizes": {"M": 64, "N": 64, "K": 64}}}, "at another size"),
    ],
)
def test_a_capture_of_something_else_is_not_shown(here, change, said, kernelprof):
    folder = here / "caps" / "03_shared_tile"
    shutil.copytree(FOLDER / "h200" / "03_shared_tile", folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["source"] |= change
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    kernelprof(f"{REPORT} --html page.html --captures caps")
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "-kernel-1" not in page
    assert said in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--html", "page.txt"], "the report must be an HTML file"),
        (["--html", "no/page.html"], "no such folder"),
        (["--captures", "."], "--captures needs --html"),
        (["--captures", "no", "--html", "page.html"], "the folder of captures does not exist"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_written_is_refused(kernelprof, options, said):
    kernelprof(REPORT, *options, code=2, err=said)
