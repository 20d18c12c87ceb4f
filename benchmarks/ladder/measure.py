"""What is measured on a climbed ladder: the drill-down, all of NVIDIA's sections, and variants."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import ErrorFacts, InputError, KernelprofError
from kernelprof.ladder.climb import ClimbPlan, open_bench
from kernelprof.ladder.registry import choose, find_ladder
from kernelprof.ladder.results import ProfileSummary, check_timing
from kernelprof.model.manifest import TimingFacts  # noqa: TC001 (a record's types are read)
from kernelprof.model.records import RecordError, build, read_object
from kernelprof.report.progress import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelprof.ladder.bench import Bench, PreparedRung
    from kernelprof.ladder.registry import Rung
    from kernelprof.ladder.results import Climb
    from kernelprof.launch.specification.tables import Define

SCHEMA_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class Variant:
    """A rung with other defines, checked and timed but not profiled."""

    defines: dict[str, Any]
    timing: TimingFacts | None = None
    error: ErrorFacts | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """One rung: two more ways to profile it beside that of the climb, and its variants.

    ``sweep`` is ``None`` where it was not asked for.
    """

    file: str
    drilldown: ProfileSummary | None = None
    full_set: ProfileSummary | None = None
    sweep: tuple[Variant, ...] | None = None
    error: ErrorFacts | None = None

    def troubles(self) -> tuple[ErrorFacts, ...]:
        """The errors of the rung and of its variants."""
        every = (self.error, *(variant.error for variant in self.sweep or ()))
        return tuple(each for each in every if each is not None)


@dataclass(frozen=True, slots=True)
class Measurements:
    """Everything that was measured beside a climb, and the command that did it."""

    command: str
    rungs: tuple[Measured, ...] = field(default=())
    schema_version: str = SCHEMA_VERSION

    def rung(self, file: str) -> Measured | None:
        """The rung of a file, if it was measured."""
        return next((each for each in self.rungs if each.file == file), None)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure of each rung of a climb, with the size that it was climbed with."""

    climb: Climb
    command: str
    full_set: bool = False
    sweep: bool = False


def measure(wanted: Wanted, say: Callable[[str], None]) -> Measurements:
    """Measure the rungs of a climb; one that fails is among the results with its error."""
    files = [each.file for each in wanted.climb.rungs]
    of, rungs = choose([find_ladder(wanted.climb.ladder)], files)
    plan = ClimbPlan(of, rungs, wanted.command, display=ProgressLine)
    found: list[Measured] = []
    with open_bench(plan) as (opened, _):
        bench = replace(opened, sizes=wanted.climb.sizes)
        for position, rung in enumerate(rungs, 1):
            found.append(_rung(bench, rung, wanted))
            error = found[-1].error
            outcome = "done" if error is None else f"failed: {error.what}"
            say(f"{position} of {len(rungs)}: {rung.file}: {outcome}")
    return Measurements(wanted.command, tuple(found))


def _rung(bench: Bench, rung: Rung, wanted: Wanted) -> Measured:
    found = Measured(rung.file)
    try:
        with bench.prepared(rung, {}) as work:
            found = replace(found, drilldown=_drill_down(work))
            if wanted.full_set:
                found = replace(found, full_set=_full_set(work))
    except KernelprofError as error:
        return replace(found, error=ErrorFacts.from_exception(error))
    if wanted.sweep:
        variants = tuple(_variant(bench, rung, defines) for defines in rung.variants)
        found = replace(found, sweep=variants)
    return found


def _drill_down(work: PreparedRung) -> ProfileSummary:
    """From the preset ``triage`` to a verdict that stands; nothing of it is kept."""
    from kernelprof.collect.drill import collect_by_verdicts
    from kernelprof.collect.store import draft
    from kernelprof.ladder.bench import short_verdict

    with draft(None) as stage:
        session = work.session(stage, "drill-down")
        found = collect_by_verdicts(session.collect)
    seconds = sum(each.seconds for each in found.rounds)
    verdict = short_verdict(found.diagnosis)
    return ProfileSummary(verdict, len(found.rounds), found.passes, round(seconds, 1))


def _full_set(work: PreparedRung) -> ProfileSummary:
    """``ncu --set full``, judged by the same rules; nothing of it is kept."""
    from kernelprof.analysis.verdict import diagnose
    from kernelprof.collect.store import draft
    from kernelprof.ladder.bench import summarize_run

    start = time.monotonic()
    with draft(None) as stage:
        capture = work.session(stage, "ncu --set full").collect((), sets=["full"])
        return summarize_run(diagnose(capture), capture, start)


def _variant(bench: Bench, rung: Rung, defines: Mapping[str, Define]) -> Variant:
    """The rung with other defines, checked and timed."""
    try:
        with bench.prepared(rung, defines) as work:
            return Variant(dict(defines), work.prepared.timing)
    except KernelprofError as error:
        return Variant(dict(defines), error=ErrorFacts.from_exception(error))


def timing_with(
    climb: Climb, more: Measurements, file: str, defines: Mapping[str, object]
) -> TimingFacts | None:
    """The times of a rung with these defines over its own, if they were measured."""
    rung, measured = climb.rung(file), more.rung(file)
    if rung is None:
        return None
    wanted = {**rung.defines, **defines}
    if wanted == rung.defines:
        return rung.timing
    for variant in () if measured is None else measured.sweep or ():
        if {**rung.defines, **variant.defines} == wanted:
            return variant.timing
    return None


def from_json(text: str, where: str) -> Measurements:
    """Measurements from their JSON; :class:`InputError` names the key of a mistake."""
    try:
        values = read_object(text)
        if values.get("schema_version") != SCHEMA_VERSION:
            raise RecordError(f"its schema_version is {values.get('schema_version')!r}")
        found = build(Measurements, values)
        for at, rung in enumerate(found.rungs):
            for variant, swept in enumerate(rung.sweep or ()):
                check_timing(swept.timing, f"rungs[{at}].sweep[{variant}].timing")
    except RecordError as error:
        raise InputError(
            f"these are not measurements on the ladder: {error}",
            where=where,
            hint="name the JSON file that 'python -m benchmarks.ladder run' wrote",
        ) from error
    return found
