"""The corpus as other GPUs would have captured it: nothing may hang on its being an H200."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from benchmarks.corpus.measure import place
from benchmarks.corpus.pairs import Side, corpus
from benchmarks.corpus.stored import FOLDER, verdicts_on

from kernelprof.analysis.metrics.architectures import CHIPS
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.sources.capture_directory import read_stored

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Verdict

UNKNOWN = (19, 7)
KNOWN = sorted({capabilities[0] for capabilities in CHIPS.values()})


@pytest.fixture(scope="module")
def captures() -> list[Capture]:
    return [read_stored(place(FOLDER, pair, Side.BEFORE)) for pair in corpus()[::2]]


@pytest.fixture(scope="module")
def verdicts(captures: list[Capture]) -> list[Verdict]:
    return verdicts_on(captures)


def on(captures: list[Capture], capability: tuple[int, int] | None) -> list[Verdict]:
    """The verdicts on the same launches under the name of another architecture."""
    return verdicts_on(
        [
            replace(
                each,
                launches=tuple(
                    replace(launch, compute_capability=capability) for launch in each.launches
                ),
            )
            for each in captures
        ]
    )


@pytest.mark.parametrize("capability", [UNKNOWN, None])
def test_an_unknown_architecture_lowers_the_confidence_and_nothing_else(
    captures: list[Capture], verdicts: list[Verdict], capability: tuple[int, int] | None
) -> None:
    for here, there in zip(verdicts, on(captures, capability), strict=True):
        assert there.confidence is not Confidence.HIGH
        if there.status is not Status.INCONCLUSIVE:
            assert there.bottleneck == here.bottleneck


@pytest.mark.parametrize("capability", KNOWN)
def test_the_same_counters_mean_the_same_on_another_architecture(
    captures: list[Capture], verdicts: list[Verdict], capability: tuple[int, int]
) -> None:
    for here, there in zip(verdicts, on(captures, capability), strict=True):
        if there.status is not Status.INCONCLUSIVE and not hangs_on_instructions(here):
            assert there.bottleneck == here.bottleneck


def hangs_on_instructions(verdict: Verdict) -> bool:
    """Whether it names ``mma.sync`` as the older instruction, which it is only on some GPUs."""
    return any("mma.sync" in row.label for row in verdict.evidence)


def test_a_product_is_called_one_of_older_instructions(verdicts: list[Verdict]) -> None:
    assert [v.bottleneck for v in verdicts if hangs_on_instructions(v)] == ["tensor-throughput"]


def test_half_the_machine_is_as_full(captures: list[Capture], verdicts: list[Verdict]) -> None:
    """An SM count and a memory clock that are halved change no share of what the GPU can do."""
    names = {"device__attribute_multiprocessor_count", "device__attribute_memory_clock_rate"}
    halved = [
        replace(
            each,
            columns={
                name: replace(column, values=column.values / 2) if name in names else column
                for name, column in each.columns.items()
            },
        )
        for each in captures
    ]
    same = [v.bottleneck for v in verdicts_on(halved)] == [v.bottleneck for v in verdicts]
    assert same
