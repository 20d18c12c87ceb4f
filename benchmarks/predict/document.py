"""Predictions beside measurements as a document: goals, and everything that falls short by name."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.pairs import Kind
from benchmarks.corpus.score import NEAR
from benchmarks.predict.beside import GOALS, HELD, MEDIAN_S, MOST_BYTES, MOST_S
from benchmarks.predict.calibrate import held_elsewhere
from benchmarks.predict.reasons import reason
from benchmarks.predict.verdicts import judgements

from kernelprof.model.diagnosis import Status
from kernelprof.model.numbers import count, number, share
from kernelprof.report.document import (
    Bullets,
    Cell,
    Column,
    Document,
    Paragraph,
    Section,
    Span,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.corpus.score import Scored
    from benchmarks.predict.beside import Beside, Compared, Report
    from benchmarks.predict.verdicts import Judged, Judgements

    from kernelprof.report.document import Block, Text

_SLOWEST: Final = 10
_NEAR: Final = (0.01, 0.05)
_MIB: Final = 1 << 20


def document(report: Report) -> Document:
    """The whole report."""
    judged = judgements(report)
    sections = (
        _headline(report),
        _goals(report),
        _not_run(report),
        _off(report),
        _outside(report),
        _by_value(report),
        _costs(report),
        _verdicts(judged),
    )
    return Document(
        title="How near predictions come",
        blocks=tuple(each for each in sections if each is not None),
    )


def _headline(report: Report) -> Section:
    method = (
        "Each kernel is compiled by NVRTC and predicted by a process of its own, as `kernelprof "
        "diagnose KERNEL.cu --predict` does it. It has values here only if its result at the check "
        "sizes is that of its reference.",
        "What was measured are the captures that come with kernelprof (`ncu`, NVIDIA H200), built "
        "by nvcc 13.0. Values that are nothing in both are not counted.",
        "A kernel is near if all of its values of a kind are. An interval holds a value to within "
        "0.01 %, and half of the last digit that `ncu` prints.",
        "`make predict-report` writes this page.",
    )
    compilers = dict.fromkeys(row.outcome.compiler for row in report.ran)
    ran, every = len(report.ran), len(report.rows)
    return Section(
        f"{ran} of {count(every, 'kernel')} run without a GPU and give the right result.",
        (Paragraph(f"Compiled by {' and '.join(compilers)}."), Bullets(method)),
    )


# Goals


def _goals(report: Report) -> Section:
    rows = []
    for goal in GOALS:
        near, far = report.reached(goal)
        rows.append(_goal(f"kernels: {goal.title}", len(near), len(near) + len(far), goal.share))
    values = [each for _, each in report.values()]
    for title, those in (
        ("values: the interval holds what was measured", values),
        ("of them, counted or of the compiler", [each for each in values if each.counted]),
        ("of them, by models of caches and time", [each for each in values if not each.counted]),
    ):
        rows.append(_goal(title, sum(each.held for each in those), len(those), HELD))
    title = "the same, intervals from other pairs alone (drawn by lot, 20 times)"
    rows.append(_goal(title, *held_elsewhere(report), HELD))
    seconds = [row.outcome.seconds for row in report.ran]
    if seconds:
        peak = max(row.outcome.peak_bytes for row in report.ran)
        rows += [
            _limit("median from start to answer", median(seconds), MEDIAN_S, "s"),
            _limit("longest from start to answer", max(seconds), MOST_S, "s"),
            _limit("most memory", peak / _MIB, MOST_BYTES / _MIB, "MiB"),
        ]
    columns = (
        *(Column("of"), Column("reached", number=True), Column("goal", number=True)),
        Column("met"),
    )
    return Section("Goals", (Table(columns, tuple(rows), label="Table of goals"),))


def _goal(title: str, reached: int, of: int, least: float) -> tuple[Cell, ...]:
    if not of:
        return _cells(title, "-", share(least), "-")
    met = "yes" if reached >= least * of else "no"
    return _cells(title, _counted(reached, of), share(least), met)


def _limit(title: str, value: float, most: float, unit: str) -> tuple[Cell, ...]:
    met = "yes" if value <= most else "no"
    return _cells(title, f"{number(value)} {unit}", f"at most {number(most)} {unit}", met)


# What falls short


def _not_run(report: Report) -> Section | None:
    groups: dict[str, list[str]] = {}
    for row in report.rows:
        if not row.outcome.values:
            groups.setdefault(row.outcome.error, []).append(row.kernel.name)
    unmeasured = [row.kernel.name for row in report.ran if row.capture is None]
    if unmeasured:
        groups["runs, and there is no capture of it as it is now"] = unmeasured
    if not groups and not report.missing:
        return None
    blocks: list[Block] = []
    if report.missing:
        blocks.append(Paragraph(f"Not predicted as it is now: {len(report.missing)}."))
    for why, names in sorted(groups.items(), key=lambda each: -len(each[1])):
        blocks += [Paragraph(f"{why} ({len(names)}):"), Bullets(tuple(map(_name, names)))]
    return Section("Not compared", tuple(blocks))


def _off(report: Report) -> Section | None:
    far = [
        (row, each)
        for goal in GOALS
        for row in report.reached(goal)[1]
        for each in row.of(goal.names)
        if not each.near(goal.within)
    ]
    return _differences("Not as near as it should be", far)


def _outside(report: Report) -> Section | None:
    far = [pair for pair in report.values() if pair[1].counted and not pair[1].held]
    return _differences("Measured outside of the interval, of what is counted", far)


def _differences(title: str, found: Sequence[tuple[Beside, Compared]]) -> Section | None:
    if not found:
        return None
    rows = []
    for row, each in sorted(found, key=lambda pair: pair[0].kernel.name):
        value = each.predicted
        exact = value.low == value.high
        rows.append(
            _cells(
                _name(row.kernel.name),
                Span(each.name, code=True),
                number(value.value),
                "exact" if exact else f"{number(value.low)} to {number(value.high)}",
                number(each.measured),
                share(each.off),
                f"{row.outcome.blocks_run:,} of {row.outcome.blocks:,}",
                reason(row, each.name),
            )
        )
    names = len({row.kernel.name for row, _ in found})
    titles = ("kernel", "value", "predicted", "interval", "measured", "off", "blocks run", "why")
    columns = tuple(Column(each, number=each in titles[2:6]) for each in titles)
    table = Table(columns, tuple(rows), label=f"Table: {title}", long=True)
    return Section(f"{title} ({count(names, 'kernel')})", (table,))


# Values


def _by_value(report: Report) -> Section | None:
    groups: dict[str, list[Compared]] = {}
    for row in report.known:
        for each in row.compared:
            groups.setdefault(each.name, []).append(each)
    if not groups:
        return None
    rows = [
        _cells(
            Span(name, code=True),
            each[0].predicted.origin,
            str(len(each)),
            *(_part(one.near(within) for one in each) for within in _NEAR),
            _part(one.held for one in each),
            _part(one.predicted.low == one.predicted.high for one in each),
        )
        for name, each in sorted(groups.items())
    ]
    titles = ("value", "from", "kernels", "within 1 %", "within 5 %", "in interval", "exact")
    columns = tuple(Column(each, number=at > 1) for at, each in enumerate(titles))
    return Section("By value", (Table(columns, tuple(rows), label="Table by value"),))


def _part(holds: Iterable[bool]) -> str:
    every = list(holds)
    return share(sum(every) / len(every))


# Time and memory


def _costs(report: Report) -> Section | None:
    ran = sorted(report.ran, key=lambda row: row.outcome.seconds, reverse=True)
    if not ran:
        return None
    rows = [
        _cells(
            _name(row.kernel.name),
            number(row.outcome.seconds),
            number(row.outcome.processor_seconds),
            number(row.outcome.peak_bytes / _MIB),
            f"{row.outcome.blocks_run:,} of {row.outcome.blocks:,}",
        )
        for row in ran[:_SLOWEST]
    ]
    titles = ("kernel", "seconds", "of a processor", "MiB", "blocks run")
    columns = tuple(Column(each, number=at > 0) for at, each in enumerate(titles))
    took = [row.outcome.processor_seconds for row in ran]
    text = (
        f"Of a processor's time the median is {number(median(took))} s and the most "
        f"{number(max(took))} s; seconds from start to answer also have what else ran there."
    )
    table = Table(columns, tuple(rows), label="Table of the slowest")
    return Section("What took longest", (Paragraph(text), table))


# Verdicts


def _verdicts(known: Judgements) -> Section | None:
    if not known.judged:
        return None
    planted = known.of(Kind.PAIR, Kind.TWO)
    rows = [
        _goal_free("planted bottleneck named first", [each.place == 1 for each in planted]),
        _goal_free("planted bottleneck: inconclusive", [_is_open(each) for each in planted]),
        _goal_free(
            "planted bottleneck: inconclusive, and among the candidates",
            [_is_open(each) and each.anywhere for each in planted],
        ),
        _goal_free(
            f"gain of its fix within {NEAR:g}x of the measured one",
            [each.error <= NEAR for each in planted if each.error is not None],
        ),
        _goal_free("healthy kernel right", [bool(each.right) for each in known.of(Kind.HEALTHY)]),
        _goal_free("decoy not named", [bool(each.right) for each in known.of(Kind.DECOY)]),
        _goal_free("wrong at high confidence", [each.wrong_and_sure for each in known.scored]),
        _goal_free(
            "another answer than the measured one, at high confidence",
            [each.differs_surely for each in known.judged],
        ),
    ]
    blocks: list[Block] = [
        Table((Column("verdicts"), Column("kernels", number=True)), tuple(rows), label="Verdicts")
    ]
    wrong = [
        (_name(each.pair.name), f": {each.named}, {each.verdict.confidence}; {_claimed(each)}")
        for each in known.scored
        if not each.right and not _is_open(each)
    ]
    blocks += _named("Decided, and not right", wrong)
    blocks += _named("Another answer than the measured one", _differing(known.judged))
    return Section("Verdicts on predictions", (*blocks, *_by_bottleneck(planted)))


def _is_open(each: Scored) -> bool:
    return each.verdict.status is Status.INCONCLUSIVE


def _claimed(each: Scored) -> str:
    pair = each.pair
    return f"not {', '.join(pair.never)}" if pair.never else f"it is {pair.bottleneck}"


def _differing(judged: Iterable[Judged]) -> Iterator[tuple[Span, str]]:
    for each in judged:
        if each.differs:
            said, real = each.predicted, each.measured
            words = f": {said.bottleneck} ({said.confidence}), measured {real.bottleneck}"
            yield _name(each.row.kernel.name), f"{words} ({real.confidence})"


def _named(title: str, items: Iterable[tuple[Span, str]]) -> tuple[Block, ...]:
    found = tuple((name, Span(text)) for name, text in items)
    return (Paragraph(f"{title} ({len(found)}):"), Bullets(found)) if found else ()


def _by_bottleneck(planted: Sequence[Scored]) -> tuple[Block, ...]:
    groups: dict[str, list[Scored]] = {}
    for each in planted:
        groups.setdefault(str(each.pair.bottleneck), []).append(each)
    if not groups:
        return ()
    rows = [
        _cells(
            Span(slug, code=True),
            str(len(group)),
            str(sum(each.place == 1 for each in group)),
            str(sum(map(_is_open, group))),
            str(sum(_is_open(each) and each.anywhere for each in group)),
        )
        for slug, group in sorted(groups.items())
    ]
    titles = ("planted", "kernels", "named first", "inconclusive", "of those, a candidate")
    columns = tuple(Column(each, number=at > 0) for at, each in enumerate(titles))
    return (Table(columns, tuple(rows), label="Table by bottleneck"),)


def _goal_free(title: str, holds: Sequence[bool]) -> tuple[Cell, ...]:
    return _cells(title, _counted(sum(holds), len(holds)))


def _counted(some: int, of: int) -> str:
    return f"{some} of {of} ({share(some / of)})" if of else "-"


def _name(name: str) -> Span:
    return Span(name, code=True)


def _cells(*texts: Text) -> tuple[Cell, ...]:
    return tuple(map(Cell, texts))
