"""A program that is surveyed first: what is measured of it then, and what that may take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from msgspec import structs

from kernelprof.analysis.survey.answer import survey_program
from kernelprof.analysis.survey.matching import with_survey
from kernelprof.analysis.survey.selection import PASS_S, PASSES, select_launches
from kernelprof.collect.commands import Chosen
from kernelprof.collect.survey.perfetto import refuse_unwritable, write_perfetto
from kernelprof.collect.survey.run import record_program
from kernelprof.errors import InputError, MissingToolError
from kernelprof.model.diagnosis import Diagnosis
from kernelprof.model.kernel_name import function_name, name_pattern
from kernelprof.model.numbers import count, share
from kernelprof.model.survey import Coverage, Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kernelprof.analysis.survey.selection import LaunchSelection
    from kernelprof.collect.commands import LaunchFilters
    from kernelprof.collect.progress import Progress
    from kernelprof.collect.survey.run import SurveyRun
    from kernelprof.errors import KernelprofError
    from kernelprof.launch.processes import Interrupts
    from kernelprof.model.survey import Survey

LEAST_S: Final = 20.0
"""A run under ``ncu`` is given so long at least, whatever the budget says."""

LATE: Final = 3.0
"""A run that takes so many times its estimate is ended, with what was measured by then."""

WORTH_ANOTHER_RUN: Final = 0.05
"""Open verdicts about this part of the time may take the whole budget. Our choice."""

FEW_PASSES: Final = 3
"""Passes that a follow-up takes, which asks for single metrics."""


_AGAIN: Final = (
    "the program runs again for each pass, because saving and restoring its memory would take "
    "longer"
)


@dataclass
class Surveyed:
    """A survey, what of the program is to be measured, and how long that may take."""

    survey: Survey
    choice: LaunchSelection
    budget: float
    passes: int = PASSES["triage"]
    begin: float = field(default_factory=time.monotonic)
    spent: bool = False
    """Whether a run took its time and gave nothing."""

    @property
    def chosen(self) -> Chosen:
        """The launches, as the command of ``ncu`` has them."""
        choice = self.choice
        alone = choice.processes == 1
        return Chosen(choice.names, choice.numbers, ends=alone)

    @property
    def preset(self) -> str:
        """What the drill-down begins with."""
        return self.choice.preset(self.budget)

    @property
    def without_numbers(self) -> Chosen:
        """As many launches of the same kernels, whichever come first."""
        return replace(self.chosen, numbers=(), ends=True)

    @property
    def estimate(self) -> float:
        """Seconds that the first run takes."""
        return self.choice.effort.estimate(self.passes)

    @property
    def replay(self) -> Replay:
        """What is repeated for each pass of the first run; of others, the kernel."""
        return self.choice.effort.replay(self.passes)

    def save_memory(self) -> None:
        """Have the kernel repeated after all, in what is left of the budget."""
        effort = replace(self.choice.effort, repeatable=False)
        self.choice = replace(self.choice, effort=effort)
        self.spent = True

    @property
    def left(self) -> float:
        """Seconds of the budget that are left."""
        return self.budget - (time.monotonic() - self.begin)

    def check_follow_up(self, kernels: Sequence[str] | None) -> None:
        """Refuse a run that exceeds the budget, of which little of the time has half."""
        effort = replace(self.choice.effort, repeatable=False)
        if kernels is not None:
            launches = sum(each.launches for each in self.chosen.only(kernels).kernels)
            written = effort.written * launches / effort.launches
            effort = replace(effort, launches=launches, written=written)
        names = None if kernels is None else set(map(function_name, kernels))
        of_time = sum(
            each.share
            for each in self.survey.kernels
            if names is None or function_name(each.name) in names
        )
        fraction = 1.0 if of_time >= WORTH_ANOTHER_RUN else 0.5
        seconds, left = effort.estimate(FEW_PASSES), self.left - (1 - fraction) * self.budget
        if seconds > left:
            usable = (
                " (only half of the budget may be used, because the kernels to measure take only "
                f"{share(of_time)} of the time)"
            )
            raise InputError(
                f"another run takes about {seconds:.0f} s, but may use only {max(left, 0):.0f} s "
                f"of the {self.budget:g} s budget{usable if fraction < 1 else ''}",
                hint="increase the budget with --budget",
            )

    @property
    def limit(self) -> float:
        """Seconds after which a run is ended."""
        longest = self.left if self.spent else max(self.left, self.estimate)
        return max(LEAST_S, min(LATE * self.estimate, longest))

    def with_coverage(self) -> Survey:
        """The survey, with what measuring took until now."""
        choice, seconds = self.choice, time.monotonic() - self.begin
        measured = len(choice.kernels), choice.launches, choice.share
        coverage = Coverage(*measured, self.estimate, seconds, self.budget)
        return structs.replace(self.survey, coverage=coverage)

    def diagnosis(self, diagnosis: Diagnosis) -> Diagnosis:
        """What was found, with the shares of the whole program and what of it was measured."""
        return with_survey(diagnosis, self.with_coverage())


def nothing_measured(
    survey: Survey, origin: str, error: KernelprofError | None, *, keep: Path | None = None
) -> Diagnosis:
    """What a survey says by itself: by an error nothing could be measured, nor kept."""
    sentences = [] if error is None else [f"Nothing was measured: {error.what}."]
    if keep is not None:
        sentences.append(f"Nothing was written to {keep}.")
    return Diagnosis((), origin, warnings=tuple(sentences), survey=survey)


def record_survey(
    application: Sequence[str],
    interrupts: Interrupts,
    progress: Progress,
    time_limit: float | None,
    *,
    perfetto: Path | None,
    variables: Mapping[str, str] | None = None,
) -> tuple[SurveyRun, Survey]:
    """Run a program and survey it, and write its trace for Perfetto.

    Raises :class:`MissingToolError` where nothing can record, :class:`InputError` where the trace
    cannot be written.
    """
    if perfetto is not None:
        refuse_unwritable(perfetto)
    run = record_program(application, interrupts, time_limit=time_limit, variables=variables)
    if perfetto is not None:
        write_perfetto(run.trace, perfetto)
    survey = survey_program(run.trace, run.seconds, ended=run.ended)
    answer = "" if survey.answer is None else f" {survey.answer.sentence}"
    progress.note(
        f"surveyed {count(sum(each.launches for each in survey.kernels), 'launch')} of "
        f"{count(len(survey.kernels), 'kernel')} in {run.seconds:.1f} s"
        f"{f' ({run.ended})' if run.ended else ''}.{answer}"
    )
    return run, survey


def survey_first(
    application: Sequence[str],
    filters: LaunchFilters,
    budget: float,
    interrupts: Interrupts,
    progress: Progress,
    *,
    preset: str | None = None,
    time_limit: float | None = None,
    perfetto: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> Surveyed | None:
    """Survey a program and choose what to measure; ``None``, and a note, to measure all."""
    progress.begin("The survey")
    limit = max(budget, LEAST_S) if time_limit is None else time_limit
    try:
        run, result = record_survey(
            application, interrupts, progress, limit, perfetto=perfetto, variables=variables
        )
    except MissingToolError as error:
        progress.note(f"no survey: {error.what}. {_without(budget)}")
        return None
    last = max((each.last for each in run.trace.processes), default=0)
    first = min((each.first for each in run.trace.processes), default=0)
    choice = select_launches(
        run.trace,
        budget,
        before=max(0.0, run.seconds - (last - first) * 1e-9) if not run.ended else 0.0,
        wanted=_wanted(filters.kernel),
        repeatable=not run.ended,
    )
    if choice is None:
        progress.note(f"the survey recorded none of the requested kernels. {_without(budget)}")
        return None
    passes = PASSES.get(preset or choice.preset(budget), PASSES["full"])
    made = Surveyed(result, choice, budget, passes)
    again = "" if made.replay is Replay.KERNEL else f"; {_AGAIN}"
    progress.note(
        f"measuring {count(choice.launches, 'launch')} of {count(len(choice.kernels), 'kernel')} "
        f"({share(choice.share)} of the kernel time): about {made.estimate:.0f} s{again}"
    )
    made.begin = time.monotonic()
    return made


def _without(budget: float) -> str:
    each = PASSES["triage"] * PASS_S
    return (
        f"Launches are measured in order, about {each:.1f} s each, until the budget of "
        f"{budget:g} s is used"
    )


def _wanted(kernel: str | None) -> Callable[[str, str], bool] | None:
    if kernel is None:
        return None
    pattern = name_pattern(kernel)
    return lambda name, mangled: bool(pattern.search(name) or pattern.search(mangled))
