"""What verdicts on predictions are worth on the corpus, beside those on measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.corpus.pairs import Kind, Side
from benchmarks.corpus.score import Measured, Scored, score
from benchmarks.corpus.stored import verdicts_on

from kernelprof.model.diagnosis import Candidate, Confidence, Status, Verdict
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.predict.beside import Beside, Report
    from benchmarks.predict.outcomes import Said


@dataclass(frozen=True, slots=True)
class Judged:
    """A kernel's verdict from its prediction, and from its measurement."""

    row: Beside
    predicted: Verdict
    measured: Verdict

    @property
    def is_open(self) -> bool:
        """Whether the prediction does not decide."""
        return self.predicted.status is Status.INCONCLUSIVE

    @property
    def differs(self) -> bool:
        """Whether both decide, and name different things."""
        decided = not self.is_open and self.measured.status is not Status.INCONCLUSIVE
        return decided and self.predicted.bottleneck != self.measured.bottleneck

    @property
    def differs_surely(self) -> bool:
        """Whether the prediction says something else at high confidence: never right to do."""
        return self.differs and self.predicted.confidence is Confidence.HIGH


@dataclass(frozen=True, slots=True)
class Judgements:
    """All verdicts on predictions, and what those of the corpus are worth."""

    judged: tuple[Judged, ...]
    scored: tuple[Scored, ...]
    """One a pair whose ``before`` ran; those that prove nothing are left out."""

    def of(self, *kinds: Kind) -> list[Scored]:
        """Those of some kinds of pairs."""
        return [each for each in self.scored if each.pair.kind in kinds]


def judgements(report: Report) -> Judgements:
    """Score the verdicts on the predictions of a report."""
    rows = [row for row in report.known if row.outcome.verdict is not None]
    measured = verdicts_on([row.capture for row in rows if row.capture is not None])
    judged = [
        Judged(row, verdict(row.outcome.verdict), real)
        for row, real in zip(rows, measured, strict=True)
        if row.outcome.verdict is not None
    ]
    return Judgements(tuple(judged), tuple(_scored(judged)))


def verdict(said: Said) -> Verdict:
    """What was said as a verdict: without evidence, which no score looks at."""
    return Verdict(
        status=Status(said.status),
        bottleneck=said.bottleneck,
        confidence=Confidence(said.confidence),
        gain=said.estimated_gain,
        headroom=said.gain_if_halved,
        also=tuple(map(Candidate, said.also)),
    )


def _scored(judged: Sequence[Judged]) -> Iterable[Scored]:
    for each in judged:
        kernel = each.row.kernel
        if kernel.pair is None or kernel.side is not Side.BEFORE:
            continue
        sides = {side: kernel.recorded.parent / side for side in kernel.pair.sides}
        times = {}
        for side, folder in sides.items():
            timing = read_manifest(folder).timing
            if timing is not None:
                times[side] = timing.median_ns
        found = score(kernel.pair, Measured(times, {Side.BEFORE: each.predicted}))
        if found.right is not None:
            yield found
