"""What the drill-down saves: its passes, seconds and verdicts beside those of collecting all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.analysis.verdict.ranking import AT_LIMIT
from kernelprof.ladder.figures import ratio
from kernelprof.ladder.markdown import DASH, share_cell, table
from kernelprof.ladder.report import heading_lines, join
from kernelprof.model.diagnosis import Status
from kernelprof.report.writers.markdown import code, prose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.ladder.results import Climb, Climbed, Way

HALF = 0.5


def render_drilldown_report(climb: Climb) -> str:
    """The drill-down, the preset ``full`` and ``ncu --set full``, rung by rung."""
    rungs = [rung for rung in climb.rungs if rung.drilldown is not None]
    return join(
        [
            heading_lines(climb, "The drill-down on the GEMM ladder"),
            _summary_lines(rungs),
            _table_lines(rungs),
        ]
    )


def _summary_lines(rungs: Sequence[Climbed]) -> list[str]:
    compared = [rung for rung in rungs if rung.full_set is not None]
    if not compared:
        return ["`ncu --set full` was not run, so there is nothing to compare with."]
    named = [rung for rung in compared if _same_name(rung.drilldown, rung.full_set)]
    same = [rung for rung in compared if _same(rung.drilldown, rung.full_set)]
    as_full = [rung for rung in compared if _same(rung.drilldown, rung.full)]
    cheap = [rung for rung in compared if _is_half(rung)]
    of_all = f"of {len(compared)} rungs"
    lines = [
        f"- Same verdict as the preset `full`: {len(as_full)} {of_all}" + _but(compared, as_full),
        f"- Same bottleneck as `ncu --set full`: {len(named)} {of_all}" + _but(compared, named),
        f"- Same status, too: {len(same)} {of_all}" + _but(compared, same),
        f"- At most half of its passes: {len(cheap)} of {len(compared)} rungs"
        + _but(compared, cheap),
    ]
    drilled, whole = _total(compared, "drilldown"), _total(compared, "full_set")
    share = ratio(drilled, whole)
    if share is not None:
        lines.append(f"- All rungs together: {drilled} of {whole} passes, {share_cell(share)}.")
    return lines


def _but(every: Sequence[Climbed], holds: Sequence[Climbed]) -> str:
    others = [code(rung.file) for rung in every if rung not in holds]
    return f"; not {', '.join(others)}." if others else "."


def _table_lines(rungs: Sequence[Climbed]) -> list[str]:
    columns = (
        *("#", "rung", "drill-down", "preset `full`", "`--set full`", "same"),
        *("runs", "passes", "seconds", "passes, `full`", "seconds, `full`"),
        *("passes, `--set full`", "seconds, `--set full`", "share of its passes"),
    )
    rows = [_row(rung) for rung in rungs]
    if rungs:
        rows.append(_total_row(rungs))
    return [
        *table(columns, rows, left=6),
        "",
        "Each way is a run (the drill-down: *runs*) of the same built kernel with the same launch. "
        "*Same* compares with `ncu --set full`; *status*: the bottleneck is the same, and one of "
        "them says that it is at its limit, which a unit that is within the noise of "
        f"{AT_LIMIT * 100:.0f} % full can be in one run and not in the next. Passes are replays of "
        "the kernel; seconds include the start of the program and the reading of the report.",
    ]


def _row(rung: Climbed) -> tuple[str, ...]:
    drilled, full, whole = rung.drilldown, rung.full, rung.full_set
    assert drilled is not None
    return (
        str(rung.number),
        prose(rung.title),
        *(_verdict(way) for way in (drilled, full, whole)),
        _sameness(drilled, whole),
        str(drilled.runs),
        *_cost(drilled),
        *_cost(full),
        *_cost(whole),
        share_cell(_share(rung)),
    )


def _total_row(rungs: Sequence[Climbed]) -> tuple[str, ...]:
    runs = sum(rung.drilldown.runs for rung in rungs if rung.drilldown is not None)
    cells: list[str] = []
    for way in ("drilldown", "full", "full_set"):
        passes, seconds = _total(rungs, way), _seconds(rungs, way)
        cells += [_whole(passes), DASH if seconds is None else f"{seconds:.1f}"]
    share = ratio(_total(rungs, "drilldown"), _total(rungs, "full_set"))
    return ("", "all", "", "", "", "", str(runs), *cells, share_cell(share))


def _verdict(way: Way | None) -> str:
    if way is None:
        return DASH
    limit = "at its limit, " if way.said.status == Status.AT_LIMIT.value else ""
    return f"{code(way.said.bottleneck or way.said.status)} ({limit}{way.said.confidence})"


def _sameness(one: Way, other: Way | None) -> str:
    if other is None:
        return DASH
    if _same(one, other):
        return "yes"
    return "status" if _same_name(one, other) else "no"


def _cost(way: Way | None) -> tuple[str, str]:
    return (DASH, DASH) if way is None else (_whole(way.passes), f"{way.seconds:.1f}")


def _whole(passes: int | None) -> str:
    return DASH if passes is None else f"{passes:,}"


def _same_name(one: Way | None, other: Way | None) -> bool:
    if one is None or other is None:
        return False
    return one.said.bottleneck == other.said.bottleneck


def _same(one: Way | None, other: Way | None) -> bool:
    if one is None or other is None:
        return False
    return (one.said.status, one.said.bottleneck) == (other.said.status, other.said.bottleneck)


def _share(rung: Climbed) -> float | None:
    if rung.drilldown is None or rung.full_set is None:
        return None
    return ratio(rung.drilldown.passes, rung.full_set.passes)


def _is_half(rung: Climbed) -> bool:
    share = _share(rung)
    return share is not None and share <= HALF


def _total(rungs: Sequence[Climbed], way: str) -> int | None:
    """Passes of a way over all rungs, not known where one is not."""
    ways: list[Way | None] = [getattr(rung, way) for rung in rungs]
    known = [each.passes for each in ways if each is not None and each.passes is not None]
    return sum(known) if len(known) == len(ways) else None


def _seconds(rungs: Sequence[Climbed], way: str) -> float | None:
    ways: list[Way | None] = [getattr(rung, way) for rung in rungs]
    known = [each.seconds for each in ways if each is not None]
    return sum(known) if len(known) == len(ways) else None
