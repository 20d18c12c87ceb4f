"""Kernels of the ladders and the corpus: what is left out and assumed changes no count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.few import part_of

from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.prediction.binding import NotRunnableError, bind_arguments
from kernelprof.prediction.machine_code import compile_source
from sassim.counters.counters import BlockCounters
from sassim.counters.launch_counters import count_launch
from sassim.interpreter.interpreter import Interpreter
from sassim.loops.backward_slice import slice_program

KERNELS = Path(__file__).parents[3] / "cuda"
EACH = 12
"""Of the corpus one in so many is taken."""
SOURCES = [*sorted(KERNELS.glob("ladder/**/*.cu")), *sorted(KERNELS.glob("pairs/*/*.cu"))[::EACH]]


@pytest.mark.parametrize(
    "source",
    part_of(9, SOURCES, why="runs a kernel twice"),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_counts_are_those_of_all_that_is_carried_out(source: Path) -> None:
    found = compile_source(source, LaunchOverrides(), progress=lambda _: None)
    at, folder = found.spec.resolve(found.spec.check_sizes), source.parent
    try:
        some, every = (
            bind_arguments(found.code, found.built, at, folder, "here") for _ in range(2)
        )
    except NotRunnableError as error:
        pytest.skip(error.what)
    counted = count_launch(some.launch, slice_program(found.code), seconds=0.0)
    block_counters = BlockCounters()
    Interpreter(every.launch, counted.sample.blocks, block_counters).run()
    assert counted.block_counters.accesses.keys() == block_counters.accesses.keys()
    for key, accesses in block_counters.accesses.items():
        for name, values in accesses.counts.items():
            assert np.array_equal(values, counted.block_counters.accesses[key].counts[name]), key
    assert counted.block_counters.runs.keys() == block_counters.runs.keys()
    for start, run in block_counters.runs.items():
        assert np.array_equal(run.warps, counted.block_counters.runs[start].warps), hex(start)
        assert np.array_equal(run.threads, counted.block_counters.runs[start].threads), hex(start)
