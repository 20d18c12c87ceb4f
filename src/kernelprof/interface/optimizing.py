"""A loop for programs that write kernels: they propose, what is better by the gate is kept."""

from __future__ import annotations

import difflib
import math
import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof import files
from kernelprof.errors import (
    ExitCode,
    InputError,
    KernelprofError,
    MissingToolError,
    Terminated,
    UsageError,
)
from kernelprof.interface.judging import Measured, Predicted, Refused
from kernelprof.launch import processes
from kernelprof.launch.read_spec import load_spec
from kernelprof.model.diagnosis import Status
from kernelprof.model.names import printable
from kernelprof.model.optimization import Attempt, Decision, Ended, Optimization
from kernelprof.proposals import command as proposer
from kernelprof.proposals.original import Original, proposal, read_original
from kernelprof.proposals.problem import changed_keys
from kernelprof.report.render import render
from kernelprof.report.writers import BRIEF
from kernelprof.results import Shown, as_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.interface.judging import Judge
    from kernelprof.results import Diagnosis, PathLike

ROUNDS: Final = 5
COMMAND_LIMIT_S: Final = 600.0
"""Seconds that the command may take for a proposal."""
_MOST_DIFF: Final = 400
"""Lines of a difference that are kept."""


@dataclass(frozen=True, slots=True)
class Tried(Shown, Optimization):
    """What was tried for a kernel, and the best source of it."""


@dataclass(frozen=True, slots=True)
class _Limits:
    rounds: int
    budget: float | None
    command_s: float


def optimize(
    source: PathLike,
    command: str,
    *,
    rounds: int = ROUNDS,
    budget: float | None = None,
    command_limit: float = COMMAND_LIMIT_S,
    predict: bool = False,
    arch: str | None = None,
    policy: PathLike | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    remark: Callable[[str], object] = lambda _: None,
    interrupted: Callable[[Tried], object] = lambda _: None,
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
    if rounds < 1:
        raise UsageError(f"{rounds} rounds propose nothing", hint="ask for one at least")
    words = proposer.words_of(command)
    judge: Judge = Predicted(arch, policy, progress) if predict else Measured(policy, progress)
    original = read_original(Path(source))
    with ExitStack() as folders:
        loop = _Loop(Path(source), original, judge, words, folders=folders, remark=remark)
        return loop.run(_Limits(rounds, budget, command_limit), command, interrupted)


def best_written(found: Optimization, write: Callable[[str, Path], object]) -> Tried:
    """The same once the best source stands in the place of the original.

    Raises :class:`InputError` where that is not as it was any more.
    """
    place = Path(found.source)
    data = files.read_bytes(place, len(found.original.encode()) + 1)
    if data != found.original.encode():
        raise InputError(
            "the source was changed meanwhile, so it is left as it is",
            where=found.source,
            hint="run it again without touching the source, or take the best one by --best FILE",
        )
    if found.kept:
        write(found.text, place)
    return as_result(Tried, found, applied=bool(found.kept))


class _Loop:
    """One run: the best source so far, and what was tried."""

    def __init__(
        self,
        source: Path,
        original: Original,
        judge: Judge,
        words: Sequence[str],
        *,
        folders: ExitStack,
        remark: Callable[[str], object],
    ) -> None:
        self._source = source
        self._original = original
        self._judge = judge
        self._words = words
        self._folders = folders
        self._remark = remark
        self._tried: list[_Round] = []
        self._known = {original.text: 0}
        self._begun = time.monotonic()

    def run(self, limits: _Limits, command: str, interrupted: Callable[[Tried], object]) -> Tried:
        """Ask for proposals until there is a reason to end."""
        first = self._judge.first(self._fresh("original", self._original.text))
        try:
            ended = self._rounds(limits, first)
        except (KeyboardInterrupt, Terminated):
            interrupted(self._result(Ended.INTERRUPTED, limits, command, first))
            raise
        return self._result(ended, limits, command, first)

    def _rounds(self, limits: _Limits, first: Diagnosis) -> Ended:
        """All rounds; why no more were asked for."""
        for number in range(1, limits.rounds + 1):
            best = self._best()
            diagnosis = best.diagnosis if best else first
            if diagnosis.kernels[0].verdict.status is Status.AT_LIMIT:
                return Ended.AT_LIMIT
            left = math.inf if limits.budget is None else limits.budget - self._seconds()
            if left <= 0:
                return Ended.BUDGET
            brief = render(replace(diagnosis, origin=str(self._source)), BRIEF)
            found = self._attempt(number, brief, min(left, limits.command_s))
            self._tried.append(found)
            attempt = found.attempt
            self._remark(f"round {number}: {attempt.decision.value}: {attempt.reason}")
            if attempt.decision is Decision.NOTHING:
                return Ended.NOTHING
            if self._original.changed():
                return Ended.TAMPERED
        return Ended.ROUNDS

    def _result(self, ended: Ended, limits: _Limits, command: str, first: Diagnosis) -> Tried:
        """What was tried so far, and the best of it."""
        best, text = self._best(), self._text()
        reached = {Ended.ROUNDS: float(limits.rounds), Ended.BUDGET: limits.budget}
        checked = ended in {Ended.TAMPERED, Ended.INTERRUPTED}
        changed = self._original.changed() if checked else ()
        return Tried(
            source=str(self._source),
            command=command,
            basis=self._judge.basis,
            ended=ended,
            attempts=self._attempts(),
            first=first.kernels[0].verdict,
            last=(best.diagnosis if best else first).kernels[0].verdict,
            text=text,
            original=self._original.text,
            diff=_diff(self._original.text, text, self._source.name),
            seconds=self._seconds(),
            limit=reached.get(ended),
            notes=self._judge.notes,
            changed=changed,
            saved=self._saved() if changed else "",
        )

    def _attempt(self, number: int, brief: str, time_limit: float) -> _Round:
        """Ask for one proposal, and decide about it."""
        begun = time.monotonic()
        printed, judged = "", None
        try:
            folder = self._folder() / f"round-{number}"
            place = self._original.written(folder / "work", self._text())
            given = folder / "brief.txt"
            told = proposer.told(brief, self._attempts(), place.name, self._text())
            given.write_text(told, encoding="utf-8")
            with processes.Interrupts() as interrupts:
                ended = proposer.ask(
                    self._words, place, given, number, interrupts=interrupts, time_limit=time_limit
                )
            printed = proposer.last_printed(ended)
            if ended.code != 0:
                raise Refused(Decision.FAILED, f"the command ended with exit code {ended.code}")
            judged = self._decided(number, self._proposed(place, folder / "work"))
            found = judged.attempt
        except Refused as error:
            found = Attempt(number, error.decision, error.reason, 0.0)
        except processes.TimeLimitError:
            reason = f"the command was still running after {time_limit:.0f} s and was ended"
            found = Attempt(number, Decision.FAILED, reason, 0.0)
        except MissingToolError as error:
            if not self._tried:
                raise
            found = Attempt(number, Decision.FAILED, error.what, 0.0)
        except OSError as error:
            reason = f"its files cannot be read or written: {error.strerror or error}"
            found = Attempt(number, Decision.FAILED, reason, 0.0)
        diff = _diff(self._text(), judged.text, self._original.path.name) if judged else ""
        found = replace(found, seconds=time.monotonic() - begun, diff=diff, printed=printed)
        return _Round(found, judged if found.decision is Decision.KEPT else None)

    def _proposed(self, place: Path, folder: Path) -> str:
        """The text that the command left. Raises :class:`Refused` where it is not to be judged."""
        if changed := self._original.changed():
            named = ", ".join(changed)
            raise Refused(Decision.REFUSED, f"files outside of its folder are others now: {named}")
        try:
            text = proposal(place, folder)
        except InputError as error:
            raise Refused(Decision.FAILED, error.what) from error
        if text == self._text():
            raise Refused(Decision.NOTHING, "the source is as it was")
        if text in self._known:
            raise Refused(Decision.NOT_BETTER, _again(self._known[text]))
        return text

    def _decided(self, number: int, text: str) -> _Judged:
        """What becomes of a proposal: of copies that no command has seen."""
        self._known[text] = number
        before = self._fresh("best", self._text())
        after = self._fresh("proposed", text)
        try:
            spec = load_spec(after)
        except KernelprofError as error:
            raise Refused(Decision.WRONG, _in_line(error, after)) from error
        if keys := changed_keys(self._original.spec, spec):
            reason = f"it changes what it is judged by: {', '.join(keys)}"
            raise Refused(Decision.REFUSED, reason)
        try:
            found = self._judge.judged(before, after)
        except KernelprofError as error:
            lacking = error.exit_code is ExitCode.ENVIRONMENT
            what = Decision.UNDECIDED if lacking else Decision.WRONG
            raise Refused(what, _in_line(error, after)) from error
        attempt = Attempt(
            number,
            found.decision,
            found.reason,
            0.0,
            gate=found.result.outcome,
            ratio=found.ratio,
            verdict=found.diagnosis.kernels[0].verdict,
        )
        return _Judged(attempt, text, found.diagnosis)

    def _fresh(self, name: str, text: str) -> Path:
        """A folder with the kernel, whose source is this text; the path of that."""
        return self._original.written(self._folder() / name, text)

    def _folder(self) -> Path:
        """A new folder, whose name no command has known while it ran."""
        made = tempfile.TemporaryDirectory(prefix="kernelprof-", ignore_cleanup_errors=True)
        return Path(self._folders.enter_context(made)).resolve()

    def _saved(self) -> str:
        """A folder that stays, with the files as they were; empty where none can be written."""
        try:
            place = Path(tempfile.mkdtemp(prefix="kernelprof-original-")) / "files"
            self._original.written(place, self._original.text)
        except OSError:
            return ""
        return str(place)

    def _attempts(self) -> tuple[Attempt, ...]:
        return tuple(each.attempt for each in self._tried)

    def _best(self) -> _Judged | None:
        """The last proposal that was kept."""
        return next((each.kept for each in reversed(self._tried) if each.kept), None)

    def _text(self) -> str:
        """The best source so far."""
        best = self._best()
        return best.text if best else self._original.text

    def _seconds(self) -> float:
        return time.monotonic() - self._begun


@dataclass(frozen=True, slots=True)
class _Judged:
    attempt: Attempt
    text: str
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True)
class _Round:
    """What became of a proposal, and the proposal where it is kept."""

    attempt: Attempt
    kept: _Judged | None


def _again(number: int) -> str:
    return f"it was tried in round {number}" if number else "it is the original again"


def _in_line(error: KernelprofError, source: Path) -> str:
    """An error in a line: what, and where, without the scratch folder."""
    lines = [line.strip() for line in error.what.split("\n") if line.strip()]
    told = f"{' '.join(lines[:2])} ({error.where})" if error.where else " ".join(lines[:2])
    return printable(told.replace(f"{source.parent}{os.sep}", ""))


def _diff(before: str, after: str, name: str) -> str:
    """What differs between two sources, as a patch."""
    sides = (before.splitlines(), after.splitlines())
    lines = [*difflib.unified_diff(*sides, f"a/{name}", f"b/{name}", lineterm="")]
    if len(lines) > _MOST_DIFF:
        lines = [*lines[:_MOST_DIFF], f"... {len(lines) - _MOST_DIFF} more lines"]
    return "\n".join(lines)
