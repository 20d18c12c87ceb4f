"""Kernels of the ladders and the corpus: what is left out and assumed changes no count."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernelprof.launch.overrides import LaunchOverrides
from kernelprof.predict.bind import bind
from kernelprof.predict.built import compiled
from kernelprof.predict.counts.counted import count
from kernelprof.predict.counts.needed import needed
from kernelprof.predict.counts.tally import Tally
from kernelprof.predict.machine.machine import Machine
from kernelprof.predict.problems import NotRunnableError

KERNELS = Path(__file__).parents[3] / "cuda"
EACH = 12
"""Of the corpus one in so many is taken."""
SOURCES = [*sorted(KERNELS.glob("ladder/**/*.cu")), *sorted(KERNELS.glob("pairs/*/*.cu"))[::EACH]]


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_counts_are_those_of_all_that_is_carried_out(source: Path) -> None:
    found = compiled(source, LaunchOverrides(), progress=lambda _: None)
    at, folder = found.spec.resolve(found.spec.check_sizes), source.parent
    try:
        some, every = (bind(found.code, found.built, at, folder, "here") for _ in range(2))
    except NotRunnableError as error:
        pytest.skip(error.what)
    counted = count(some.launch, needed(found.code), seconds=0.0)
    tally = Tally()
    Machine(every.launch, counted.sample.blocks, tally).run()
    assert counted.tally.accesses.keys() == tally.accesses.keys()
    for key, accesses in tally.accesses.items():
        for name, values in accesses.counts.items():
            assert np.array_equal(values, counted.tally.accesses[key].counts[name]), key
    assert counted.tally.runs.keys() == tally.runs.keys()
    for start, run in tally.runs.items():
        assert np.array_equal(run.warps, counted.tally.runs[start].warps), hex(start)
        assert np.array_equal(run.threads, counted.tally.runs[start].threads), hex(start)
