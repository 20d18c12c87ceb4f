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

    from tests.conftest import RunCli

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


def test_run_status_and_query(run_cli: RunCli, plan: Path) -> None:
    done = run_cli("fleet", "run", str(plan), "--workers", "1", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    jsonschema.validate(found, json.loads(schema("fleet_run")))
    stored = [each for each in found["jobs"] if each["done"] == "diagnosed"]
    assert len(stored) > 1
    page = plan.parent / "team.html"
    held = run_cli("fleet", "status", str(plan), "--html", str(page))
    assert held.returncode == 0, held.stderr
    assert f"{found['planned']} jobs" in held.stdout
    text = page.read_text(encoding="utf-8")
    assert "What could be saved, by kernel" in text
    asked = run_cli("fleet", "query", str(plan.parent / "store"), "potential", "--limit", "2")
    assert asked.returncode == 0, asked.stderr
    assert "The first 2 of" in asked.stdout
    counted = "select count(*) as n from kernels"
    sql = run_cli("fleet", "query", str(plan), "--sql", counted, "--format", "markdown")
    assert sql.returncode == 0, sql.stderr
    assert "| n |" in sql.stdout


def test_mistakes(run_cli: RunCli, plan: Path) -> None:
    asked = run_cli("fleet", "query", str(plan))
    assert (asked.returncode, "there is no question" in asked.stderr) == (2, True)
    nothing = run_cli("fleet", "query", str(plan), "potential")
    assert (nothing.returncode, "there is no measurement" in nothing.stderr) == (2, True)


def test_a_measurement_needs_a_gpu(run_cli: RunCli, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN + '[[ladder]]\nname = "sgemm"\nrungs = ["1"]\n', encoding="utf-8")
    done = run_cli("fleet", "run", str(path), PATH=str(tmp_path))
    assert (done.returncode, "--recorded" in done.stderr) == (4, True)


@pytest.mark.parametrize(
    ("package", "words"),
    [("duckdb", ("query", "potential")), ("ray", ("run", "--ray", "local"))],
)
def test_a_missing_package_names_the_command(
    run_cli: RunCli, plan: Path, monkeypatch: pytest.MonkeyPatch, package: str, words: tuple
) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)
    command, *rest = words
    done = run_cli("fleet", command, str(plan), *rest)
    assert done.returncode == 4
    assert "pip install 'kernelprof[fleet]'" in done.stderr
