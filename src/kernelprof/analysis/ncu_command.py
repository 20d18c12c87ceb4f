"""Exact ``ncu`` command lines: for what is asked for, and for what a launch lacks."""

from __future__ import annotations

import re
import shlex
from functools import cached_property
from itertools import product
from pathlib import PurePath
from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.architectures import find_dropped
from kernelprof.analysis.metrics.catalogue import (
    SAMPLES,
    SAMPLES_SECTION,
    load_metrics,
    metrics_for,
    preset,
)
from kernelprof.analysis.rules import load_rules
from kernelprof.errors import UsageError
from kernelprof.files import SOURCES
from kernelprof.model.diagnosis import MissingMetric, NcuRun
from kernelprof.model.kernel_name import kernel_filters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.verdict.sensitivity import Sensitivity
    from kernelprof.model.capture import Capture, Launches
    from kernelprof.model.diagnosis import Verdict

MOST_METRICS = 8
"""Metrics that a command names one by one; for more it names a set. Eight take five lines."""

MOST_CHARACTERS = 400
"""Length from which a command that settles verdicts names its kernels in a shorter way, or not."""

PLACEHOLDER = ("./app", "args...")
"""Stands for the program where it is not known."""


def format_ncu_command(
    metrics: str | Iterable[Metric] | None,
    *,
    options: Sequence[str] = (),
    compute_capability: tuple[int, int] | None = None,
    kernel: str | None = None,
    launch_skip: int | None = None,
    launch_count: int | None = None,
    clock_control: str | None = None,
    nvtx_include: Sequence[str] = (),
    application: Sequence[str] | None = None,
    output: str = "capture.csv",
) -> list[str]:
    """Return the command that collects ``metrics`` (a preset's name, or metrics) into ``output``.

    Without metrics, ``options`` say what to collect (``--set full``).
    ``kernel`` is a name as a capture shows it. With it and without ``launch_skip``, launches are
    counted for each launch configuration by itself: one kernel with two grids is two entries of a
    diagnosis, and the launches of the first are not to use up the count of the second.
    Options that are ``None`` are left to ``ncu``'s own default.
    """
    wanted = options if metrics is None else collection_options(metrics, compute_capability)
    command = ["ncu", *wanted]
    if kernel is not None:
        from kernelprof.model.kernel_name import kernel_filter

        command += kernel_filter(kernel)
    if launch_skip is not None:
        command += ["--launch-skip", str(launch_skip)]
    elif kernel is not None and launch_count is not None:
        command += ["--filter-mode", "per-launch-config"]
    if launch_count is not None:
        command += ["--launch-count", str(launch_count)]
    if clock_control is not None:
        command += ["--clock-control", clock_control]
    if nvtx_include:
        command.append("--nvtx")
    for expression in nvtx_include:
        command += ["--nvtx-include", expression]
    command += ["--csv", "--page", "raw", "--print-units", "auto", "--log-file", output]
    return [*command, *(application or PLACEHOLDER)]


def collection_options(
    metrics: str | Iterable[Metric],
    compute_capability: tuple[int, int] | None = None,
    *,
    samples: bool = False,
) -> list[str]:
    """Return the options that make ``ncu`` collect these metrics on this architecture.

    With ``samples`` also where in the source warps are and what for; a preset knows that of itself.
    """
    if isinstance(metrics, str):
        chosen = preset(metrics)
        wanted, samples = chosen.metrics, samples or chosen.samples
    else:
        wanted = tuple(metrics)
    names: dict[str, None] = {}
    sections: dict[str, None] = {}
    for metric in wanted:
        on_chip = metric.ncu_names(compute_capability)
        if on_chip and metric.section is not None:
            sections[metric.section] = None
        elif on_chip:
            names[on_chip[0]] = None
    if not (names or sections):
        raise UsageError(
            "nothing to collect: this architecture supports none of the requested metrics",
            hint="choose another preset; 'kernelprof presets' lists them",
        )
    if samples:
        names[SAMPLES] = None
        sections[SAMPLES_SECTION] = None
    options = ["--metrics", ",".join(names)] if names else []
    for section in sections:
        options += ["--section", section]
    return options


class NextStep:
    """Says of the launches that stand for others what to measure next.

    ``facts`` are of those, ``launches`` all of the capture. ``preset_name`` is the metric set that
    the commands collect; without one they collect just what is missing.
    """

    def __init__(self, facts: Facts, preset_name: str | None, launches: Launches) -> None:
        self._facts = facts
        self._preset = preset_name
        self._launched = launches.codes_by(lambda each: (each.kernel, each.grid, each.block))

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        # Read only for launches that their evidence does not decide.
        from kernelprof.analysis.verdict.sensitivity import Sensitivity

        return Sensitivity(self._facts)

    def deciding(self, row: int, slugs: Sequence[str]) -> tuple[MissingMetric, ...]:
        """Return missing metrics that would decide between these rules in this launch."""
        missing = self._missing(row, slugs)
        return self._described(row, self._sensitivity.deciding(row, slugs, missing))

    def absent(self, row: int, slug: str) -> tuple[MissingMetric, ...]:
        """Return a rule's metrics that the launch lacks: they would raise the confidence."""
        return self._described(row, self._missing(row, [slug]))

    def run(self, row: int, rows: Sequence[int], missing: Sequence[MissingMetric]) -> NcuRun | None:
        """Return the run of ncu that collects what is missing, or all that any rule could want.

        ``row`` is the launch among those that stand for others, ``rows`` are the capture's that it
        stands for. None where :meth:`command` is no run of ncu, or no ncu would understand it.
        """
        capture = self._facts.capture
        launch = capture.launches[row]
        gone = find_dropped(launch.compute_capability)
        if self._preset or _source(capture) is not None or (gone and gone.other_names):
            return None
        last = max(rows)
        return NcuRun(
            launch.kernel,
            int((self._launched[: last + 1] == self._launched[last]).sum()),
            tuple(each.metric for each in missing),
            launch.compute_capability,
            capture.clock_control,
            tuple(_program(capture) or PLACEHOLDER),
        )

    def command(self, run: NcuRun | None) -> str | None:
        """Return the command of a run, or the one that measures a source or a preset again."""
        if run is not None:
            return combine_runs([run])
        capture = self._facts.capture
        if _source(capture) is not None:
            wanted = ["--preset", self._preset or "full"]
            return shlex.join(["kernelprof", "diagnose", *target_words(capture, wanted)])
        if self._preset is not None:
            wanted = ["--preset", self._preset, "-o", "followup"]
            return shlex.join(["kernelprof", "profile", *target_words(capture, wanted)])
        return None

    def tool(self, row: int) -> str:
        """Return which Nsight Compute still profiles the launch's GPU; empty where today's does."""
        capability = self._facts.capture.launches[row].compute_capability
        gone = find_dropped(capability)
        if capability is None or gone is None:
            return ""
        gpu = "GPUs of compute capability {}.{}".format(*capability)
        if gone.last is None:
            return f"Nsight Compute does not profile {gpu}: use nvprof"
        return (
            f"Nsight Compute {gone.last} is the last version that profiles {gpu}: {gone.since} and "
            "later do not"
        )

    def _missing(self, row: int, slugs: Iterable[str]) -> list[str]:
        """Canonical metrics of these rules that the launch lacks and that can be had.

        A metric that only stands in for another, one that the chip does not have, and one that ncu
        already failed to give are never asked for.
        """
        facts, metrics, rules = self._facts, load_metrics(), load_rules()
        capability = facts.capture.launches[row].compute_capability
        wanted = dict.fromkeys(name for slug in slugs for name in rules[slug].metrics)
        return [
            name
            for name in wanted
            if facts.lacks(name, row)
            and facts.capture.unavailable.isdisjoint(metrics[name].ncu_names(capability))
        ]

    def _described(self, row: int, names: Iterable[str]) -> tuple[MissingMetric, ...]:
        capability = self._facts.capture.launches[row].compute_capability
        metrics = load_metrics()
        return tuple(
            MissingMetric(name, metrics[name].ncu_names(capability)[0], metrics[name].why)
            for name in names
        )


def shared_command(verdicts: Iterable[Verdict]) -> str | None:
    """Return one command that collects what verdicts of one capture lack, if there is any."""
    lacking = [each for each in verdicts if each.command is not None]
    runs = [each.run for each in lacking if each.run is not None]
    return combine_runs(runs) if runs else next((each.command for each in lacking), None)


def combine_runs(runs: Sequence[NcuRun]) -> str:
    """Return one command of ncu for runs of one program.

    It names at most :data:`MOST_METRICS` metrics, else ``--set full``, and the kernels. Where that
    has more than :data:`MOST_CHARACTERS`, it names the set, else functions, else no kernel.
    """
    choices = [["--set", "full"]]
    capabilities = {each.compute_capability for each in runs}
    if len(capabilities) == 1 and all(each.metrics for each in runs):
        capability = capabilities.pop()
        names = dict.fromkeys(name for each in runs for name in each.metrics)
        wanted = metrics_for(list(names), capability)
        if len(wanted) <= MOST_METRICS:
            choices.insert(0, collection_options(wanted, capability))
    filters = kernel_filters(list(dict.fromkeys(each.kernel for each in runs)))
    for chosen, options in product(filters, choices):
        command = format_ncu_command(
            None,
            options=[*options, *chosen, "--filter-mode", "per-launch-config"],
            launch_count=max(each.launches for each in runs),
            clock_control=runs[0].clock_control,
            application=runs[0].program,
            output="followup.csv",
        )
        if len(text := shlex.join(command)) <= MOST_CHARACTERS:
            break
    return text


def target_words(capture: Capture, options: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words of ``kernelprof profile`` and ``diagnose`` that measure the same again.

    ``options`` are more of them, which stand before the program or its arguments.
    """
    source = _source(capture)
    if source is None:
        return (*options, "--", *(_program(capture) or PLACEHOLDER))
    arguments = ("--", *capture.program) if capture.program else ()
    return (source, *capture.options, *options, *arguments)


def _source(capture: Capture) -> str | None:
    """The source that was measured or predicted: no program that ``ncu`` could start."""
    application = capture.application
    return application if application and application.endswith(SOURCES) else None


def _program(capture: Capture) -> Sequence[str] | None:
    """What to run: an export knows the executable, which for an interpreter is not the program."""
    application = capture.application
    if capture.program or application is None:
        return capture.program or None
    if re.fullmatch(r"python[\d.]*|bash|sh|node|julia|perl|ruby", PurePath(application).name):
        return [application, "script", "args..."]
    return [application]
