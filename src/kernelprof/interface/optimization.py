"""A loop for programs that write kernels: they propose, what is better by the gate is kept.

A proposal is judged against the best source so far: measured in turns, or predicted.
"""

from __future__ import annotations

import difflib
import math
import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from kernelprof import files, proposals
from kernelprof.comparison.words import reason as summarize
from kernelprof.errors import (
    ExitCode,
    InputError,
    KernelprofError,
    MissingToolError,
    Terminated,
    UsageError,
)
from kernelprof.interface.changes import gate
from kernelprof.interface.prediction import predict
from kernelprof.launch import processes
from kernelprof.launch.specification.reader import load_spec
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Code, Outcome
from kernelprof.model.names import printable
from kernelprof.model.numbers import quantity
from kernelprof.model.optimization import Attempt, Basis, Decision, Ended, Optimization
from kernelprof.proposals import Original, changed_keys, read_original, read_proposal
from kernelprof.report.render import render_result
from kernelprof.report.writers import BRIEF
from kernelprof.results import Capture, Shown, as_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import ProfileResult
    from kernelprof.interface.requests import OptimizationOptions
    from kernelprof.model.gate import GateResult
    from kernelprof.results import Diagnosis, PathLike

    Policy = PathLike | Mapping[str, Any] | None
    Say = Callable[[str], object]
    Judged = tuple[Attempt, Diagnosis]

ROUNDS: Final = 5
COMMAND_LIMIT_S: Final = 600.0
"""Seconds that the command may take for a proposal."""
_MOST_DIFF: Final = 400
"""Lines of a difference that are kept."""


_ONLY_CHECKED: Final = (
    "results were compared with the reference at the check sizes only: at the measured sizes, the "
    "original's result is outside the tolerance or cannot be checked on this machine"
)
_NO_TIME: Final = (
    "no time was measured: proposals were judged by predicted times and counters, and their "
    "results were compared with the reference at the check sizes only"
)


class Refused(Exception):  # noqa: N818 (of a proposal, and no failure of ours)
    """A proposal that is not judged, and why."""

    def __init__(self, decision: Decision, reason: str) -> None:
        super().__init__(reason)
        self.decision = decision
        self.reason = reason


class PredictedJudge:
    """By what machine code counts, without a GPU."""

    basis = Basis.PREDICTED
    notes = (_NO_TIME,)

    def __init__(self, arch: str | None, policy: Policy, progress: Progress | None) -> None:
        self._arch = arch
        self._policy = policy
        self._progress = progress
        self._captures: dict[bytes, Capture] = {}
        self._writes_all = False

    def diagnose_original(self, source: Path) -> Diagnosis:
        capture = self._predict(source)
        self._writes_all = not _explain_missing_output(capture, source)
        return capture.diagnose()

    def judge(self, before: Path, after: Path) -> Judged:
        """Whether the second is better. Raises what a wrong kernel raises."""
        sides = self._predict(before), self._predict(after)
        if self._writes_all and (few := _explain_missing_output(sides[1], after)):
            raise Refused(Decision.WRONG, few)
        result = gate(*sides, policy=self._policy, rename=_rename(*sides))
        (kernel,) = result.kernels
        codes = {each.code for each in kernel.findings}
        decision = _declined(result)
        if decision is None:
            # What is counted must not be the same: that is no improvement.
            better = codes & {Code.FASTER, Code.COUNTER_BETTER} and not kernel.kernel.same_code
            decision = Decision.ACCEPTED if better else Decision.NOT_BETTER
        unchanged = decision is Decision.NOT_BETTER and result.outcome is Outcome.PASS
        reason = (
            "neither the predicted time nor a counter improved" if unchanged else summarize(result)
        )
        return _judged(decision, reason, result, sides[1])

    def _predict(self, source: Path) -> Capture:
        text = source.read_bytes()
        if text not in self._captures:
            self._captures[text] = predict(source, arch=self._arch, progress=self._progress)
        return self._captures[text]


class MeasuredJudge:
    """By times and counters, A B A B; where nothing can be measured, by recorded captures."""

    def __init__(self, policy: Policy, progress: Progress | None) -> None:
        self._policy = policy
        self._progress = progress
        self._recorded = False
        self._checks_measured_sizes = False

    @property
    def basis(self) -> Basis:
        return Basis.RECORDED if self._recorded else Basis.MEASURED

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self._checks_measured_sizes else (_ONLY_CHECKED,)

    def diagnose_original(self, source: Path) -> Diagnosis:
        from kernelprof.collect import session
        from kernelprof.collect.request import NotMeasurableError, ProfileRequest

        request = ProfileRequest(source=source, samples=True)
        try:
            measured = session.measure_for_diagnosis(request, progress=self._progress)
        except NotMeasurableError as error:
            raise MissingToolError(
                error.what,
                where=error.where,
                hint=f"judge proposals by prediction, without a GPU: --predict\n{error.hint}",
            ) from error
        self._recorded = measured.recorded
        if not measured.recorded:
            self._checks_measured_sizes = self._may_be_checked(source)
        return _capture_of(source, measured).diagnose()

    def judge(self, before: Path, after: Path) -> Judged:
        from kernelprof.comparison import pairs, sides
        from kernelprof.comparison.compare import compare_snapshots
        from kernelprof.comparison.gate.judge import judge_comparison as judge_change
        from kernelprof.comparison.gate.policy import load_policy
        from kernelprof.launch.specification.overrides import LaunchOverrides

        if (
            self._checks_measured_sizes
            and (wrong := self._right_at_measured_sizes(after)) is not None
        ):
            raise Refused(Decision.WRONG, f"at the measured sizes: {wrong.what}")
        captures: dict[Path, Capture] = {}

        def keep(source: Path, measured: ProfileResult) -> None:
            captures[source] = _capture_of(source, measured)

        both = sides.measure(
            before, after, LaunchOverrides(), progress=self._progress, measured=keep
        )
        names = pairs.parse_renames(_rename(captures[before], captures[after]), *both)
        result = judge_change(compare_snapshots(*both, names), load_policy(self._policy))
        (kernel,) = result.kernels
        change = kernel.kernel.time
        decision, reason = _declined(result), summarize(result)
        if decision is None:
            faster = change.outcome is TimeOutcome.FASTER
            decision = Decision.ACCEPTED if faster else Decision.NOT_BETTER
            if not faster:
                reason = f"time comparison: {change.outcome.value}"
        return _judged(decision, reason, result, captures[after], change.ratio)

    def _may_be_checked(self, source: Path) -> bool:
        try:
            return self._right_at_measured_sizes(source) is None
        except MissingToolError:
            return False

    def _right_at_measured_sizes(self, source: Path) -> KernelprofError | None:
        """What is wrong with the result of a source there; ``None`` where it is right."""
        from kernelprof.collect.progress import Progress
        from kernelprof.launch.processes import Interrupts
        from kernelprof.launch.run.prepare import prepare_kernel
        from kernelprof.launch.source import read_source, specification_path
        from kernelprof.launch.specification.overrides import LaunchOverrides
        from kernelprof.proposals import check_at_measured_sizes

        spec, text = load_spec(source), read_source(source)
        if spec.check_sizes == spec.sizes:
            return None
        sidecar_file = specification_path(source)
        original = sidecar_file.read_bytes() if sidecar_file.is_file() else None
        sidecar_file.unlink(missing_ok=True)
        source.write_text(check_at_measured_sizes(text, source, spec), encoding="utf-8")
        try:
            with (
                Interrupts() as interrupts,
                self._progress or Progress() as shown,
                prepare_kernel(source, LaunchOverrides(), interrupts, shown.say),
            ):
                return None
        except MissingToolError:
            raise
        except KernelprofError as error:
            return error
        finally:
            source.write_text(text, encoding="utf-8", newline="")
            if original is not None:
                sidecar_file.write_bytes(original)


def _capture_of(source: Path, measured: ProfileResult) -> Capture:
    from kernelprof.sources.capture_directory import make_contents

    contents = make_contents(source, measured.manifest, measured.lines)
    return as_result(Capture, measured.capture, contents=contents, recorded=measured.recorded)


def _explain_missing_output(capture: Capture, source: Path) -> str:
    """Why a kernel cannot have written all of its outputs at the measured sizes; empty: it can.

    The result is compared at the sizes of the check, and a kernel may return early at others. An
    output with a ``fill`` need not be written.
    """
    from kernelprof.launch.specification.elements import element_bytes
    from kernelprof.launch.specification.spec import ResolvedArray

    prediction = capture.prediction
    assert prediction is not None  # it was predicted
    wanted = sum(
        math.prod(each.shape) * element_bytes(each.argument.element)
        for each in load_spec(source).resolve().arguments
        if isinstance(each, ResolvedArray) and each.argument.output and each.argument.fill is None
    )
    coverage = prediction.counts.coverage
    written = None if coverage is None else coverage.written_bytes
    if written is None or written.high >= wanted:
        return ""
    most = f"at most {quantity(written.high, 'byte')} of {quantity(wanted, 'byte')} of output"
    return f"at the measured sizes, the kernel writes {most}"


def _declined(result: GateResult) -> Decision | None:
    if result.outcome is Outcome.PASS:
        return None
    if any(each.code is Code.WRONG_RESULT for kernel in result.kernels for each in kernel.findings):
        return Decision.WRONG
    regression = result.outcome is Outcome.REGRESSION
    return Decision.NOT_BETTER if regression else Decision.UNDECIDED


def _judged(
    decision: Decision,
    reason: str,
    result: GateResult,
    after: Capture,
    ratio: float | None = None,
) -> Judged:
    diagnosis = after.diagnose()
    attempt = Attempt(
        0,
        decision,
        reason,
        0.0,
        gate=result.outcome,
        ratio=None if ratio is None else float(ratio),
        verdict=diagnosis.kernels[0].verdict,
    )
    return attempt, diagnosis


def _rename(before: Capture, after: Capture) -> list[str]:
    old, new = (each.launches[0].kernel for each in (before, after))
    return [] if old == new else [f"{old}={new}"]


@dataclass(frozen=True, slots=True)
class Tried(Shown, Optimization):
    """What was tried for a kernel, and the best source of it."""


def optimize(
    source: PathLike,
    command: str,
    *,
    remark: Say = lambda _: None,
    interrupted: Callable[[Tried], object] = lambda _: None,
    progress: Progress | None = None,
    **options: Unpack[OptimizationOptions],
) -> Tried:
    """Have a command propose changes of a kernel, and keep those that the gate finds better.

    ``command`` is started in a scratch folder for each of at most so many ``rounds``, as
    ``docs/agents.md`` says. A proposal is kept if its launch specification is that of the same
    problem, its result is right, and the gate lets it pass: measured in turns it has to be faster;
    with ``predict`` it has to count less and nothing more. The loop ends where the kernel is at its
    limit, nothing is proposed, or ``budget`` seconds are over. The source is not changed.
    ``remark`` gets a line for each proposal. On an interrupt ``interrupted`` gets what was tried
    until then, before the interrupt goes on. Where the kernel's own files were changed meanwhile, a
    folder that stays has them as they were.

    Raises what diagnosing the source raises, and :class:`MissingToolError` where it can neither be
    measured here nor was recorded, or the command cannot be started.
    """
    rounds, arch = options.get("rounds", ROUNDS), options.get("arch")
    if rounds < 1:
        raise UsageError(f"{rounds} is not a valid number of rounds", hint="request at least one")
    words = proposals.split_command(command)
    judge: PredictedJudge | MeasuredJudge = MeasuredJudge(options.get("policy"), progress)
    if arch is not None or options.get("predict"):
        judge = PredictedJudge(arch, options.get("policy"), progress)
    with ExitStack() as folders:
        loop = _Loop(
            source=Path(source),
            original=read_original(Path(source)),
            judge=judge,
            command=command,
            words=words,
            rounds=rounds,
            budget=options.get("budget"),
            command_limit=options.get("command_limit", COMMAND_LIMIT_S),
            folders=folders,
            remark=remark,
        )
        return loop.run(interrupted)


def best_written(tried: Optimization, write: Callable[[str, Path], object]) -> Tried:
    """The same once the best source stands in the place of the original.

    Raises :class:`InputError` where that is not as it was any more.
    """
    file = Path(tried.source)
    data = files.read_bytes(file, len(tried.original.encode()) + 1)
    if data != tried.original.encode():
        raise InputError(
            "the source was changed during the run, so kernelprof did not replace it",
            where=tried.source,
            hint="run kernelprof again without editing the source, or add --best FILE to write "
            "the best source to FILE",
        )
    if tried.accepted:
        write(tried.text, file)
    return as_result(Tried, tried, applied=bool(tried.accepted))


@dataclass(frozen=True, slots=True)
class _Round:
    """``text`` is what was proposed, if it was judged, and ``diagnosis`` what limits that."""

    attempt: Attempt
    text: str = ""
    diagnosis: Diagnosis | None = None


@dataclass
class _Loop:
    source: Path
    original: Original
    judge: PredictedJudge | MeasuredJudge
    command: str
    words: Sequence[str]
    rounds: int
    budget: float | None
    command_limit: float
    folders: ExitStack
    remark: Say

    def __post_init__(self) -> None:
        self._rounds_done: list[_Round] = []
        self._texts = {self.original.text: 0}
        self._begun = time.monotonic()

    def run(self, interrupted: Callable[[Tried], object]) -> Tried:
        """Ask for proposals until there is a reason to end."""
        first = self.judge.diagnose_original(self._fresh("original", self.original.text))
        try:
            ended = self._ask_for_rounds(first)
        except (KeyboardInterrupt, Terminated):
            interrupted(self._result(Ended.INTERRUPTED, first))
            raise
        return self._result(ended, first)

    def _ask_for_rounds(self, first: Diagnosis) -> Ended:
        for number in range(1, self.rounds + 1):
            diagnosis = self._best_diagnosis(first)
            if diagnosis.kernels[0].verdict.status is Status.AT_LIMIT:
                return Ended.AT_LIMIT
            left = math.inf if self.budget is None else self.budget - self._seconds()
            if left <= 0:
                return Ended.BUDGET
            brief = render_result(replace(diagnosis, origin=str(self.source)), BRIEF)
            done = self._attempt(number, brief, min(left, self.command_limit))
            self._rounds_done.append(done)
            attempt = done.attempt
            self.remark(f"round {number}: {attempt.decision.value}: {attempt.reason}")
            if attempt.decision is Decision.NOTHING:
                return Ended.NOTHING
            if self.original.changed_files():
                return Ended.TAMPERED
        return Ended.ROUNDS

    def _result(self, ended: Ended, first: Diagnosis) -> Tried:
        reached = {Ended.ROUNDS: float(self.rounds), Ended.BUDGET: self.budget}
        checked = ended in {Ended.TAMPERED, Ended.INTERRUPTED}
        changed = self.original.changed_files() if checked else ()
        return Tried(
            source=str(self.source),
            command=self.command,
            basis=self.judge.basis,
            ended=ended,
            attempts=self._attempts(),
            first=first.kernels[0].verdict,
            last=self._best_diagnosis(first).kernels[0].verdict,
            text=self._text(),
            original=self.original.text,
            diff=_diff(self.original.text, self._text(), self.source.name),
            seconds=self._seconds(),
            limit=reached.get(ended),
            notes=self.judge.notes,
            changed=changed,
            saved=self._saved() if changed else "",
        )

    def _attempt(self, number: int, brief: str, time_limit: float) -> _Round:
        begun = time.monotonic()
        printed, done = "", None
        try:
            folder = self._folder() / f"round-{number}"
            file = self.original.write(folder / "work", self._text())
            given = folder / "brief.txt"
            request = proposals.format_brief(brief, self._attempts(), file.name, self._text())
            given.write_text(request, encoding="utf-8")
            with processes.Interrupts() as interrupts:
                ended = proposals.run_command(
                    self.words, file, given, number, interrupts=interrupts, time_limit=time_limit
                )
            printed = proposals.last_printed(ended)
            if ended.code != 0:
                raise Refused(Decision.FAILED, f"the command ended with exit code {ended.code}")
            done = self._decided(number, self._proposed(file, folder / "work"))
        except Refused as error:
            decision, reason = error.decision, error.reason
        except processes.TimeLimitError:
            decision = Decision.FAILED
            reason = f"the command was still running after {time_limit:.0f} s and was killed"
        except MissingToolError as error:
            if not self._rounds_done:
                raise
            decision, reason = Decision.FAILED, error.what
        except OSError as error:
            decision = Decision.FAILED
            reason = f"the files of this round cannot be read or written: {error.strerror or error}"
        if done is None:
            done = _Round(Attempt(number, decision, reason, 0.0))
            diff = ""
        else:
            diff = _diff(self._text(), done.text, self.original.path.name)
        seconds = time.monotonic() - begun
        attempt = replace(done.attempt, number=number, seconds=seconds, diff=diff, printed=printed)
        return replace(done, attempt=attempt)

    def _proposed(self, file: Path, folder: Path) -> str:
        """The text that the command left. Raises :class:`Refused` where it is not to be judged."""
        if changed := self.original.changed_files():
            changed_names = ", ".join(changed)
            reason = f"files outside the command's folder changed: {changed_names}"
            raise Refused(Decision.REFUSED, reason)
        try:
            text = read_proposal(file, folder)
        except InputError as error:
            raise Refused(Decision.FAILED, error.what) from error
        if text == self._text():
            raise Refused(Decision.NOTHING, "the source is unchanged")
        if text in self._texts:
            raise Refused(Decision.NOT_BETTER, _again(self._texts[text]))
        return text

    def _decided(self, number: int, text: str) -> _Round:
        """What becomes of a proposal: of copies that no command has seen."""
        self._texts[text] = number
        before = self._fresh("best", self._text())
        after = self._fresh("proposed", text)
        try:
            spec = load_spec(after)
        except KernelprofError as error:
            raise Refused(Decision.WRONG, _in_line(error, after)) from error
        if keys := changed_keys(self.original.spec, spec):
            reason = (
                "the proposal changes parts of the launch specification that must stay the same: "
                f"{', '.join(keys)}"
            )
            raise Refused(Decision.REFUSED, reason)
        try:
            attempt, diagnosis = self.judge.judge(before, after)
        except KernelprofError as error:
            lacking = error.exit_code is ExitCode.ENVIRONMENT
            what = Decision.UNDECIDED if lacking else Decision.WRONG
            raise Refused(what, _in_line(error, after)) from error
        return _Round(attempt, text, diagnosis)

    def _fresh(self, name: str, text: str) -> Path:
        return self.original.write(self._folder() / name, text)

    def _folder(self) -> Path:
        """A new folder, whose name no command has known while it ran."""
        made = tempfile.TemporaryDirectory(prefix="kernelprof-", ignore_cleanup_errors=True)
        return Path(self.folders.enter_context(made)).resolve()

    def _saved(self) -> str:
        """A folder that stays, with the files as they were; empty where none can be written."""
        try:
            folder = Path(tempfile.mkdtemp(prefix="kernelprof-original-")) / "files"
            self.original.write(folder, self.original.text)
        except OSError:
            return ""
        return str(folder)

    def _attempts(self) -> tuple[Attempt, ...]:
        return tuple(each.attempt for each in self._rounds_done)

    def _best(self) -> _Round | None:
        rounds = reversed(self._rounds_done)
        return next((each for each in rounds if each.attempt.decision is Decision.ACCEPTED), None)

    def _best_diagnosis(self, first: Diagnosis) -> Diagnosis:
        best = self._best()
        return first if best is None or best.diagnosis is None else best.diagnosis

    def _text(self) -> str:
        best = self._best()
        return best.text if best else self.original.text

    def _seconds(self) -> float:
        return time.monotonic() - self._begun


def _again(number: int) -> str:
    return f"tried already in round {number}" if number else "the same as the original"


def _in_line(error: KernelprofError, source: Path) -> str:
    """An error in a line: what, and where, without the scratch folder."""
    lines = [line.strip() for line in error.what.split("\n") if line.strip()]
    line = f"{' '.join(lines[:2])} ({error.where})" if error.where else " ".join(lines[:2])
    return printable(line.replace(f"{source.parent}{os.sep}", ""))


def _diff(before: str, after: str, name: str) -> str:
    sides = (before.splitlines(), after.splitlines())
    lines = [*difflib.unified_diff(*sides, f"a/{name}", f"b/{name}", lineterm="")]
    if len(lines) > _MOST_DIFF:
        lines = [*lines[:_MOST_DIFF], f"... {len(lines) - _MOST_DIFF} more lines"]
    return "\n".join(lines)
