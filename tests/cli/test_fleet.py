"""``kernelprof fleet`` as it is typed."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import jsonschema
import pytest

from kernelprof.report.writers.json import schema

if TYPE_CHECKING:
    from pathlib import Path


PLAN = 'schema_version = "1"\nname = "three"\nstore = "store"\n'
CAPTURES = '[[captures]]\nfolder = "{}"\n'


@pytest.fixture
def plan(tmp_path: Path, captures: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan with a folder of two captures."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "captures"
    folder.mkdir()
    for name in ("before-1.1.csv.gz", "after-1.1.csv.gz"):
        shutil.copy(captures / "h200_once" / name, folder)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + CAPTURES.format(folder), encoding="utf-8")
    return path


def test_run_status_and_query(kernelprof, plan: Path) -> None:
    found = kernelprof.json(f"fleet run {plan} --workers 1")
    jsonschema.validate(found, json.loads(schema("fleet_run")))
    stored = [each for each in found["jobs"] if each["done"] == "diagnosed"]
    assert len(stored) > 1
    page = plan.parent / "team.html"
    kernelprof(f"fleet status {plan} --html {page}", out=f"{found['planned']} jobs")
    text = page.read_text(encoding="utf-8")
    assert "Time that could be saved, by kernel" in text
    kernelprof(
        "fleet query", plan.parent / "store", "potential", "--limit", "2", out="The first 2 of"
    )
    counted = "select count(*) as n from kernels"
    kernelprof(f"fleet query {plan} --sql '{counted}' --format markdown", out="| n |")


def test_mistakes(kernelprof, plan: Path) -> None:
    kernelprof(f"fleet query {plan}", code=2, err="no question is given")
    kernelprof(f"fleet query {plan} potential", code=2, err="there is no measurement")


def test_a_measurement_needs_a_gpu(kernelprof, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + '[[ladder]]\nname = "sgemm"\nrungs = ["1"]\n', encoding="utf-8")
    kernelprof(f"fleet run {path}", code=4, err="--recorded")


@pytest.mark.parametrize(
    ("package", "words"),
    [("duckdb", ("query", "potential")), ("ray", ("run", "--ray", "local"))],
)
def test_a_missing_package_names_the_command(
    kernelprof, plan: Path, monkeypatch: pytest.MonkeyPatch, package: str, words: tuple
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    command, *rest = words
    kernelprof(f"fleet {command} {plan}", *rest, code=4, err="pip install 'kernelprof[fleet]'")
