"""What copies in bulk count as, and the barriers that wait for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.sassim.interpreter.running import code, each_architecture
from tests.support.captures import PAIRS

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.prediction.machine_code import compile_source
from kernelprof.prediction.predictor import predict_kernel
from kernelprof.sources import read_capture
from sassim.counters.counters import BULK, BlockCounters

PAIR = "seismic-window-energies-one-buffer"
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("arch", each_architecture("barriers", 90))
def test_a_copy_counts_as_itself_and_its_barriers_as_nothing(arch: str) -> None:
    block_counters = BlockCounters()
    arrays = np.zeros(256, np.float32), np.ones(256, np.float32)
    code("barriers", arch).run(
        "bulk", *arrays, np.int32(100), block=(256, 1, 1), counters=block_counters
    )
    found = {
        (each.space, each.kind): {name: int(counts.sum()) for name, counts in each.counts.items()}
        for each in block_counters.accesses.values()
    }
    # 400 bytes take 13 sectors.
    assert found[BULK, "store"] == {"requests": 1, "sectors": 13}
    assert found[BULK, "load"] == {"requests": 1, "requested": 13, "sectors": 13}
    assert found["shared", "load"]["wavefronts"] == found["shared", "store"]["wavefronts"] == 8
    assert not {space for space, _ in found} & {"global"}
    assert "wavefronts" not in found["shared", "barrier"]


@pytest.mark.slow("predicts two launches of a hundred blocks that copy in bulk")
@pytest.mark.parametrize("name", ["before", "after"])
def test_the_counters_are_those_of_a_gpu(name: str) -> None:
    source = ROOT / "cuda" / "pairs" / PAIR / f"{name}.cu"
    found = compile_source(source, LaunchOverrides(), progress=lambda _: None)
    columns = predict_kernel(found, progress=lambda _: None).capture.columns
    recorded = PAIRS / PAIR / name
    measured = read_capture(recorded).columns
    for metric in (
        *("tma_loads", "tma_load_sectors", "tma_store_sectors", "tma_reduction_sectors"),
        *("shared_wavefronts", "shared_wavefronts_ideal", "instructions", "global_sectors"),
    ):
        counter = load_metrics()[metric].ncu[0]
        assert columns[counter].values.tolist() == measured[counter].values.tolist()
