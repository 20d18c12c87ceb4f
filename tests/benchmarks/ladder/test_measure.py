"""``python -m benchmarks.ladder`` on a machine whose ``ncu`` replays captures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.ladder.__main__ import main
from benchmarks.ladder.measure import from_json
from tests.benchmarks.ladder.samples import MEASURED

from kernelprof.cli.main import main as kernelprof
from kernelprof.errors import InputError
from kernelprof.model.records import to_json

if TYPE_CHECKING:
    from tests.ladder.machine import Workshop

ROOT = Path(__file__).parents[3]
OUTPUT = "measured.json"


def measured(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / OUTPUT).read_text("utf-8"))["rungs"]
    return found


@pytest.fixture
def climbed(machine: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> Path:
    """The results of two rungs, without the profiler."""
    options = ["--rung", "1", "--rung", "2", "--no-profile", "--json", "ladder.json"]
    assert kernelprof(["ladder", "run", *options]) == 0
    capsys.readouterr()
    workshop.asked.clear()
    return machine / "ladder.json"


@pytest.mark.slow("several runs")
def test_the_drill_down_the_full_set_and_variants(
    climbed: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "ladder.json", "--full-set", "--sweep", "-o", OUTPUT]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "benchmarks.ladder: 1 of 2: 01_naive.cu: done",
        "benchmarks.ladder: 2 of 2: 02_coalesced.cu: done",
    ]
    assert [(name, defines) for name, _, defines in workshop.asked[:3]] == [
        ("01_naive.cu", {}),
        ("01_naive.cu", {"BLOCK": 8}),
        ("01_naive.cu", {"BLOCK": 16}),
    ]
    naive, coalesced = measured(climbed.parent)
    for way in ("drilldown", "full_set"):
        assert naive[way]["said"]["bottleneck"] == "uncoalesced-global-access"
        assert coalesced[way]["said"]["bottleneck"] == "l1-throughput"
        assert naive[way]["passes"] >= 38
    assert [variant["defines"] for variant in naive["sweep"]] == [{"BLOCK": 8}, {"BLOCK": 16}]
    assert main(["drilldown", "ladder.json", OUTPUT]) == 0
    report = capsys.readouterr().out
    assert "Same bottleneck as `ncu --set full`: 2 of 2 rungs." in report
    assert main(["sweep", "ladder.json", OUTPUT, "-o", "sweep.md"]) == 0
    assert "`BLOCK = 8`" in (climbed.parent / "sweep.md").read_text("utf-8")


def test_a_variant_that_fails_leaves_its_rung_alone(
    climbed: Path, workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    workshop.failing["01_naive.cu BLOCK=8"] = InputError("it does not fit")
    assert main(["run", "ladder.json", "--sweep", "-o", OUTPUT]) == 2
    assert "warning: the ladder: it does not fit" in capsys.readouterr().err
    naive, coalesced = measured(climbed.parent)
    assert naive["error"] is None
    assert [variant["error"] is None for variant in naive["sweep"]] == [False, True]
    assert coalesced["sweep"] is not None


def test_without_a_gpu_nothing_is_measured(
    climbed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    assert main(["run", "ladder.json", "-o", OUTPUT]) == 4
    err = capsys.readouterr().err
    assert "the ladder cannot run here: this machine has no ncu" in err
    assert "python -m benchmarks.ladder run ladder.json" in err
    assert not (climbed.parent / OUTPUT).exists()


def test_what_was_written_is_read_again() -> None:
    assert from_json(to_json(MEASURED), "x.json") == MEASURED


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "it is not JSON"),
        ("{}", "its schema_version is None"),
        (to_json(MEASURED).replace('"command"', '"typed"'), "'command' is missing"),
        (to_json(MEASURED).replace("4000000.0", "0", 1), "sweep[0].timing.median_ns' is not a"),
    ],
)
def test_what_is_not_a_measurement_is_refused_with_its_key(text: str, what: str) -> None:
    with pytest.raises(InputError, match="these are not measurements on the ladder") as caught:
        from_json(text, "x.json")
    assert what in caught.value.what


@pytest.mark.parametrize("name", ["drilldown", "sweep"])
def test_the_report_is_what_its_command_makes(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = ROOT / "reports"
    files = [str(reports / f"ladder-{part}.json") for part in ("h200", "measured-h200")]
    assert main([name, *files]) == 0
    assert capsys.readouterr().out == (reports / f"ladder-{name}-h200.md").read_text("utf-8")
