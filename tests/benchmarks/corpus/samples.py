"""Pairs, verdicts and times that nobody measured: what they are worth is what is tested."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpus.pairs import Kind, Pair, Side
from benchmarks.corpus.peers import Answer, Peer
from benchmarks.corpus.score import Measured, Scored, score
from benchmarks.corpus.scorecard import LeftOut, Mode, Row, Scorecard, Surroundings

from kernelprof.model.diagnosis import Candidate, Confidence, Status, Verdict

if TYPE_CHECKING:
    from typing import Any

HOSTILE = "<img src=x onerror=alert(1)>|`*_[x](y)\x1b[31m\n</script>"
ATOMICS, BANKS, L1, DRAM = (
    *("atomic-contention", "shared-bank-conflicts"),
    *("l1-throughput", "dram-bandwidth"),
)


def verdict(
    slug: str | None = ATOMICS,
    gain: float | None = 2.0,
    *,
    also: tuple[str, ...] = (),
    confidence: Confidence = Confidence.HIGH,
    status: Status = Status.BOTTLENECK,
    headroom: float | None = None,
) -> Verdict:
    """A verdict that names a bottleneck."""
    return Verdict(
        status=status,
        bottleneck=slug,
        confidence=confidence,
        gain=gain,
        headroom=headroom,
        also=tuple(Candidate(each, 1.0, 1.5) for each in also),
    )


def full(slug: str, headroom: float = 4.0) -> Verdict:
    """A unit at its limit."""
    return verdict(slug, None, status=Status.AT_LIMIT, headroom=headroom)


def undecided(*slugs: str) -> Verdict:
    """An inconclusive verdict between some."""
    return verdict(None, None, also=slugs, confidence=Confidence.LOW, status=Status.INCONCLUSIVE)


def pair(kind: Kind = Kind.PAIR, name: str = "some-pair", **changes: Any) -> Pair:
    """A folder that is not there."""
    needed: dict[str, Any] = {"bottleneck": ATOMICS, "change": "A sum for each warp."}
    if kind is Kind.TWO:
        needed |= {"second": BANKS, "second_change": "A padded row."}
    if kind is Kind.HEALTHY:
        needed = {"bottleneck": L1}
    if kind is Kind.DECOY:
        needed = {"bottleneck": None, "change": "A padded row.", "never": (BANKS,)}
    found = Pair(name=name, folder=Path(name), kind=kind, field="test", **needed)
    return replace(found, **changes)


def known(before: Verdict, *gains: float, after: Verdict | None = None) -> Measured:
    """A verdict, what each fix brought, and the verdict on the first fixed kernel."""
    fixes = (Side.AFTER, Side.AFTER_SECOND)
    times = {side: 1e6 / gain for side, gain in zip(fixes, gains, strict=False)}
    verdicts = {Side.BEFORE: before} | ({} if after is None else {Side.AFTER: after})
    return Measured({Side.BEFORE: 1e6, **times}, verdicts)


def scored(about: Pair, before: Verdict, *gains: float, after: Verdict | None = None) -> Scored:
    """What a verdict is worth."""
    return score(about, known(before, *gains, after=after))


def row(
    about: Pair,
    before: Verdict,
    *gains: float,
    after: Verdict | None = None,
    triage: Verdict | None = None,
) -> Row:
    """A pair with the same verdict in all modes, or another from ``triage``."""
    whole = known(before, *gains, after=after)
    less = replace(whole, verdicts={Side.BEFORE: triage or before})
    same = replace(whole, verdicts={Side.BEFORE: before})
    by_mode = {Mode.FULL: whole, Mode.TRIAGE: less, Mode.DRILL_DOWN: same}
    return Row(about, whole.times, {mode: score(about, each) for mode, each in by_mode.items()})


def peers() -> tuple[Peer, ...]:
    """Two other analyzers; the second was asked about less, and says how sure it is."""
    rules = {
        "banks": Answer("SharedMemoryConflicts", (BANKS,), "Many conflicts.", 71.5),
        "atomics": Answer("", ()),
        "full": Answer("CPIStall", ("memory-latency", L1)),
        "bait": Answer("SharedMemoryConflicts", (BANKS,)),
        HOSTILE: Answer(HOSTILE, (ATOMICS,), HOSTILE),
    }
    rules = {name: replace(each, anywhere=(*each.meant, ATOMICS)) for name, each in rules.items()}
    labels = {
        "banks": Answer("low occupancy", ("low-occupancy",), confidence="high"),
        "full": Answer("memory bound", (L1,), confidence="medium"),
    }
    return (Peer("ncu", "2025.3.1", rules), Peer("fournex", "1.0", labels))


def card(**changes: Any) -> Scorecard:
    """Right, second, wrong and sure, two at once, healthy, decoys, void, and a hostile name."""
    rows = [
        row(
            pair(name="atomics"),
            verdict("memory-latency", 3.0, also=(ATOMICS,), confidence=Confidence.MEDIUM),
            *(4.0,),
            after=full(DRAM),
        ),
        row(pair(Kind.DECOY, "bait"), verdict(BANKS, 1.4), 1.0),
        row(pair(name="banks", bottleneck=BANKS), verdict(BANKS, 6.0), 2.0, after=verdict(BANKS)),
        row(pair(Kind.TWO, "both"), verdict(BANKS, 2.0), 1.2, 1.9),
        row(pair(Kind.HEALTHY, "full"), full(L1), triage=undecided(L1, DRAM)),
        row(pair(name="idle"), verdict(ATOMICS, 2.0), 1.01),
        row(pair(name="stream", bottleneck=DRAM), full(DRAM), 2.5, after=full(DRAM)),
        row(pair(name="sure"), verdict("low-occupancy", 1.5), 3.0, after=full(DRAM)),
        row(pair(name=HOSTILE, change=HOSTILE), verdict(ATOMICS, 2.0), 2.1, after=full(DRAM)),
    ]
    found = Scorecard(
        rows=tuple(rows),
        left_out=(LeftOut("unmeasured", "no capture of after as it is now"),),
        surroundings=Surroundings(
            gpus=("NVIDIA H200",),
            drivers=("580.159.04",),
            cudas=("13.0",),
            ncus=("2025.3.1.0",),
            clock_controls=("none",),
            days=("2026-11-21", "2026-11-22"),
        ),
        peers=peers(),
    )
    return replace(found, **changes)
