"""Predictions beside measurements: what counts as near, and what the report says of the rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.predict.beside import GOALS, Compared, beside
from benchmarks.predict.document import document
from benchmarks.predict.kernels import choose, kernels
from benchmarks.predict.outcomes import Outcome, Said, Value, kept, predicted
from benchmarks.predict.reasons import reasons

from benchmarks.predict import __main__ as cli
from benchmarks.predict import outcomes
from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.report.writers import markdown

if TYPE_CHECKING:
    from benchmarks.predict.kernels import Kernel

ROOT = Path(__file__).parents[3]
TILE = "ladder/03_shared_tile.cu"
PAIR = "pairs/coo-product-atomic-each-entry/before.cu"
TMA = "pairs/camera-traces-stored-frame-by-frame/before.cu"
TEXTURE = """\
// /// kernelprof
// kernel = "k"
// block = [32]
// grid = [1]
// reference = "none"
// sizes = { N = 32 }
//
// [[arguments]]
// name = "x"
// type = "uint64"
// value = 1
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["N"]
// output = true
// ///
extern "C" __global__ void k(unsigned long long x, float* y) {
    y[threadIdx.x] = tex1Dfetch<float>(x, threadIdx.x);
}
"""
NAMES = (
    "global_load_requests",
    "global_load_sectors",
    "shared_wavefronts",
    "threads_per_instruction",
    "instructions",
    "theoretical_occupancy",
)
OPEN = Said("inconclusive", None, "low")


def as_measured(kernel: Kernel) -> Outcome:
    """An outcome that predicts just what was measured."""
    capture = kernel.measured()
    assert capture is not None
    facts = Facts(capture)
    values = {}
    for name in NAMES:
        value = float(facts.values(name)[0])
        values[name] = Value(value, value, value, "predicted")
    return Outcome(1.5, 1.0, 200 << 20, values, OPEN, 100, 10, "NVRTC 13.1.115")


def shown(found: dict[str, Outcome]) -> str:
    chosen = choose(tuple(found))
    return markdown.write(document(beside(chosen, found)), largest=None, level=1)


def test_every_source_is_a_kernel_once() -> None:
    found = [each.source for each in kernels()]
    sources = (ROOT / "cuda").rglob("*.cu")
    assert sorted(found) == sorted(each for each in sources if each.parent.name != "factors")
    assert len(set(found)) == len(found)


def test_a_value_is_near_within_a_share_or_the_rounding_of_ncu() -> None:
    exact = Compared("instructions", Value(1000, 1000, 1000, "predicted"), 1009)
    assert exact.near(0.01)
    assert not exact.near(0.005)
    assert not exact.held
    wide = replace(exact, predicted=Value(1000, 990, 1010, "predicted"))
    assert wide.held
    rounded = Compared("threads_per_instruction", Value(1.124, 1.124, 1.124, "predicted"), 1.12)
    assert rounded.near(0.001)
    assert rounded.held
    nothing = Compared("instructions", Value(5, 5, 5, "predicted"), 0)
    assert not nothing.near(0.5)


def test_a_report_of_what_was_measured_meets_all_goals_and_names_nobody() -> None:
    (kernel,) = choose((TILE,))
    text = shown({TILE: as_measured(kernel)})
    assert "1 of 1 kernel run without a GPU" in text
    assert "Not as near" not in text
    for goal in GOALS:
        assert f"{goal.title} | 1 of 1 (100 %)" in text
    assert "| median from start to answer | 1.5 s | at most 2 s | yes |" in text


def test_what_is_off_stands_there_by_name_with_its_interval() -> None:
    (kernel,) = choose((TILE,))
    found = as_measured(kernel)
    loads = found.values["global_load_sectors"].value
    off = Value(1.2 * loads, loads * 1.1, loads * 1.3, "predicted")
    text = shown({TILE: replace(found, values={**found.values, "global_load_sectors": off})})
    assert "requests, sectors and ideals within 1 % | 0 of 1" in text
    near, outside = text.split("## Not as near")[1].split("## Measured outside")
    for part in (near, outside):
        assert f"`{TILE}` | `global_load_sectors`" in part
        assert "| 20 % | 10 of 100 |" in part


def test_what_cannot_be_predicted_is_named_with_the_reason() -> None:
    text = shown({TMA: Outcome(1.0, 1.0, 1, error="copies by tensor maps", kind="X")})
    assert "0 of 1 kernel" in text
    assert "copies by tensor maps (1):" in text
    assert f"`{TMA}`" in text


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (OPEN, "planted bottleneck: inconclusive | 1 of 1 (100 %)"),
        (Said("bottleneck", "atomic-contention", "high"), "named first | 1 of 1 (100 %)"),
        (Said("bottleneck", "fp64-throughput", "high"), "wrong at high confidence | 1 of 1"),
    ],
)
def test_verdicts_on_predictions_are_scored(said: Said, line: str) -> None:
    (kernel,) = choose((PAIR,))
    assert line in shown({PAIR: replace(as_measured(kernel), verdict=said)})


def test_reasons_are_of_kernels_that_there_are() -> None:
    found = {each.name for each in kernels()}
    found |= {name.rpartition("/")[0] for name in found}
    assert set(reasons()["kernels"]) <= found
    assert {*NAMES, *reasons()["values"]} <= set(load_metrics())


@pytest.mark.slow("several predictions")
def test_a_kernel_is_predicted_once_and_what_cannot_be_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outcomes, "CACHE", tmp_path / "predict")
    monkeypatch.chdir(ROOT)
    tile_kernel, other = choose((TILE, TMA))
    (source := tmp_path / "kernel.cu").write_text(TEXTURE, encoding="utf-8")
    chosen = (tile_kernel, replace(other, source=source))
    assert kept(chosen) == {}
    found = predicted(chosen, lambda _: None)
    tile, texture = found[TILE], found[TMA]
    assert tile.values["instructions"].value > 0
    assert tile.verdict is not None
    assert 0 < tile.blocks_run <= tile.blocks
    assert 50 << 20 < tile.peak_bytes < 1 << 30
    assert texture.kind == "NotRunnableError"
    assert "textures" in texture.error
    again: list[str] = []
    assert predicted(chosen, again.append) == found
    assert again == []
    assert cli.main(["write", TILE]) == 0
    assert "1 of 1 kernel" in capsys.readouterr().out
