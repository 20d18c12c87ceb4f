"""The BF16 ladder as it was climbed on an H200: what its verdicts are worth, and what is told."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import pytest

from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.recorded import FOLDER, find_record
from kernelprof.ladder.registry import Rung, find_ladder
from kernelprof.launch.specification.reader import load_spec
from kernelprof.sources.capture_directory import read_stored

if TYPE_CHECKING:
    from kernelprof.model.diagnosis import Verdict

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = json.loads((ROOT / "reports" / "ladder-bf16-h200.json").read_text("utf-8"))
RUNGS: Final = find_ladder("bf16").rungs
NOTABLE: Final = 1.05

NAMED: Final = {
    ("01_naive.cu", "02_mma_sync.cu"): "uncoalesced-global-access",
    ("02_mma_sync.cu", "03_cp_async_ring.cu"): "memory-latency",
    ("02_mma_sync.cu", "04_wgmma.cu"): "memory-latency",
    ("04_wgmma.cu", "05_larger_tile.cu"): "l2-bandwidth",
    ("06_producer_ring.cu", "07_two_consumers.cu"): "async-pipeline-stalls",
    ("08_persistent.cu", "09_lean_mbarriers.cu"): "async-pipeline-stalls",
    ("09_lean_mbarriers.cu", "11_async_stores.cu"): "tensor-throughput",
}
"""What a verdict has to name of each step that brought something."""


def _verdict(file: str) -> Verdict:
    capture = read_stored(FOLDER / "h200-bf16" / Path(file).stem)
    (kernel,) = diagnose(capture).kernels
    return kernel.verdict


def _climbed(file: str) -> dict[str, Any]:
    (found,) = [rung for rung in RESULTS["rungs"] if rung["file"] == file]
    return found


def _gain(before: str, after: str) -> float:
    """At the larger size, which the verdicts are of."""
    return _climbed(before)["timing"]["median_ns"] / _climbed(after)["timing"]["median_ns"]


def test_each_step_that_brought_something_is_named_by_the_rung_before_it() -> None:
    steps = {
        (rung.after, rung.file)
        for rung in RUNGS
        if rung.after is not None and _gain(rung.after, rung.file) >= NOTABLE
    }
    assert steps == set(NAMED)
    assert {step: _verdict(step[0]).bottleneck for step in steps} == NAMED


def test_what_the_step_from_stores_by_threads_brought_is_said_before_it() -> None:
    before, after = _verdict("09_lean_mbarriers.cu"), _verdict("11_async_stores.cu")
    assert before.advice[0].startswith("Store results by TMA from shared memory")
    assert "the fastest GEMM on an H200 reaches 98 %, 1.05x as much" in before.why
    assert not any("by TMA" in line for line in after.advice)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.stem)
class TestEachRung:
    def test_its_verdict_is_what_the_registry_expects(self, rung: Rung) -> None:
        verdict = _verdict(rung.file)
        assert verdict.bottleneck == rung.expected
        assert verdict.bottleneck != "low-occupancy"

    def test_its_record_is_of_the_file_as_it_is(self, rung: Rung) -> None:
        source = ROOT / rung.target
        record = find_record(source, load_spec(source), "no GPU")
        assert record.manifest.target == (rung.target,)


@pytest.mark.parametrize("size", [4096, 8192])
def test_the_last_rung_is_faster_than_cublas(size: int) -> None:
    (beside,) = [each for each in _climbed(RUNGS[-1].file)["beside"] if each["size"] == size]
    parts = [cublas / own for own, cublas in beside["rounds"]]
    assert len(parts) == 9
    assert median(parts) > 1.0


def test_the_tables_tell_what_the_report_does() -> None:
    report = (ROOT / "reports" / "ladder-bf16-h200.md").read_text("utf-8")
    shown = (ROOT / "docs" / "ladder.md").read_text("utf-8")
    for number, cells in {9: ("90.7 %", "97.0 %"), 13: ("100.7 %", "103.0 %")}.items():
        (row,) = [line for line in report.splitlines() if line.startswith(f"| [{number} ")]
        assert all(f"| {cell} (" in row for cell in cells)
        assert any(all(cell in line for cell in cells) for line in shown.splitlines())
