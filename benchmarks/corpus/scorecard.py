"""Everything that a report of the corpus says, worked out from committed captures."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.halves import Halves, halves
from benchmarks.corpus.lines import LineScore, line_scores
from benchmarks.corpus.measure import is_measured
from benchmarks.corpus.pairs import Side
from benchmarks.corpus.peers import peer_totals
from benchmarks.corpus.score import score, totals
from benchmarks.corpus.stored import (
    FOLDER,
    by_drill_down,
    by_full,
    by_triage,
    check_folder,
    home,
    load_pair,
    measured,
)

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.corpus.pairs import Pair
    from benchmarks.corpus.peers import Peer, PeerTotals
    from benchmarks.corpus.score import Scored, Totals
    from benchmarks.corpus.stored import Kernel

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.manifest import Manifest


class Mode(StrEnum):
    """What the verdicts had to go by."""

    FULL = "full"
    TRIAGE = "triage"
    DRILL_DOWN = "drill-down"


JUDGES: Final[Mapping[Mode, Callable[[Sequence[Capture]], list[Verdict]]]] = {
    Mode.FULL: by_full,
    Mode.TRIAGE: by_triage,
    Mode.DRILL_DOWN: by_drill_down,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One pair: times in nanoseconds, and what the verdicts on it are worth."""

    pair: Pair
    times: Mapping[Side, float]
    scored: Mapping[Mode, Scored]

    def gain(self, side: Side) -> float | None:
        """What a fix brought."""
        return None if side not in self.times else self.times[Side.BEFORE] / self.times[side]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A pair that is not scored, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """On what the captures were made; each name once, in the order in which they were met."""

    gpus: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    cudas: tuple[str, ...] = ()
    ncus: tuple[str, ...] = ()
    clock_controls: tuple[str, ...] = ()
    days: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scorecard:
    """The corpus scored: a row a pair, by name."""

    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()
    surroundings: Surroundings = field(default_factory=Surroundings)
    peers: tuple[Peer, ...] = ()
    halves: Halves | None = None
    lines: tuple[LineScore, ...] = ()
    """The pairs in which a line is to blame."""

    def scored(self, mode: Mode = Mode.FULL) -> list[Scored]:
        """What the verdicts of one mode are worth."""
        return [row.scored[mode] for row in self.rows]

    def totals(self, mode: Mode = Mode.FULL) -> Totals:
        """Counts for one mode."""
        return totals(self.scored(mode))

    def peer_totals(self, peer: Peer) -> PeerTotals:
        """Counts for another analyzer, over the same pairs."""
        return peer_totals(peer, self.scored())


def scorecard(
    pairs: Sequence[Pair],
    captures: Path | None = None,
    peers: Sequence[Peer] = (),
    say: Callable[[str], None] | None = None,
    *,
    with_halves: bool = False,
) -> Scorecard:
    """Score all pairs whose kernels were measured as they are now.

    Their captures are in ``captures``, for ``None`` where the repository has them. With
    ``with_halves`` thresholds are also chosen on halves of them, which takes a while.
    """
    check_folder(captures or FOLDER)
    loaded: dict[str, dict[Side, Kernel]] = {}
    left_out: list[LeftOut] = []
    for number, pair in enumerate(pairs, 1):
        if say is not None:
            say(f"reading {number} of {len(pairs)}: {pair.name}")
        kernels, why = _kernels(pair, captures)
        if why:
            left_out.append(LeftOut(pair.name, why))
        else:
            loaded[pair.name] = kernels
    if not loaded:
        raise InputError(
            "no pair was measured as it is now",
            where=None if captures is None else str(captures),
            hint="'python -m benchmarks.corpus run --captures' measures them where there is a GPU",
        )
    # Whether the bottleneck is gone after the fix is asked of the whole captures only.
    known = {
        mode: measured(loaded, judge, tuple(Side) if mode is Mode.FULL else (Side.BEFORE,))
        for mode, judge in JUDGES.items()
    }
    rows = [
        Row(
            pair,
            known[Mode.FULL][pair.name].times,
            {mode: score(pair, found[pair.name]) for mode, found in known.items()},
        )
        for pair in pairs
        if pair.name in loaded
    ]
    manifests = [kernel.manifest for kernels in loaded.values() for kernel in kernels.values()]
    if say is not None and with_halves:
        say("choosing thresholds on halves of the pairs")
    return Scorecard(
        tuple(rows),
        tuple(left_out),
        _surroundings(manifests),
        tuple(peers),
        halves(pairs, loaded) if with_halves else None,
        line_scores(row.scored[Mode.FULL] for row in rows),
    )


def _kernels(pair: Pair, captures: Path | None) -> tuple[dict[Side, Kernel], str]:
    """The captures of a pair, and why it cannot be scored; empty where it can."""
    place = captures or home(pair)
    lacking = [side.value for side in pair.sides if not is_measured(place, pair, side)]
    if lacking:
        return {}, f"no capture of {' and '.join(lacking)} as it is now"
    kernels = load_pair(pair, captures)
    untimed = [side.value for side, kernel in kernels.items() if kernel.median_ns is None]
    return kernels, f"no times of {' and '.join(untimed)}" if untimed else ""


def _surroundings(manifests: Sequence[Manifest]) -> Surroundings:
    return Surroundings(
        gpus=_each(manifest.gpu.name for manifest in manifests),
        drivers=_each(manifest.driver for manifest in manifests),
        cudas=_each(manifest.cuda for manifest in manifests),
        ncus=_each(manifest.ncu for manifest in manifests),
        clock_controls=_each(manifest.clock_control for manifest in manifests),
        days=tuple(sorted(_each(manifest.created.partition("T")[0] for manifest in manifests))),
    )


def _each(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
