"""How a proposal is held against the best source so far: measured in turns, or predicted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from kernelprof.errors import KernelprofError, MissingToolError
from kernelprof.interface import changes, prediction
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.gate import Code, Outcome
from kernelprof.model.numbers import quantity
from kernelprof.model.optimization import Basis, Decision
from kernelprof.results import Capture, as_result

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.session import ProfileResult
    from kernelprof.model.gate import GateResult
    from kernelprof.results import Diagnosis, PathLike

    Policy = PathLike | Mapping[str, Any] | None

_ONLY_CHECKED: Final = (
    "results were compared with the reference at the sizes of the check alone; at the measured "
    "sizes that of the original is off by more than the tolerance, was recorded, or is too much "
    "for this machine"
)
_NO_TIME: Final = (
    "no time was measured: proposals were judged by what their machine code counts, and their "
    "results were compared with the reference at the sizes of the check alone"
)


_LANES: Final = 32
"""Threads of a warp."""
_ELSEWHERE: Final = frozenset({"shared", "local", "constant"})
"""Spaces in which no output lies."""


class Refused(Exception):  # noqa: N818 (of a proposal, and no failure of ours)
    """A proposal that is not judged, and why."""

    def __init__(self, decision: Decision, reason: str) -> None:
        super().__init__(reason)
        self.decision = decision
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate says of a proposal, and what follows from it."""

    decision: Decision
    reason: str
    result: GateResult
    diagnosis: Diagnosis
    ratio: float | None = None


class Judge(Protocol):
    """Holds sources against each other."""

    @property
    def basis(self) -> Basis:
        """What decides."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What qualifies all of it."""
        ...

    def first(self, source: Path) -> Diagnosis:
        """What limits the original."""
        ...

    def judged(self, before: Path, after: Path) -> Judgement:
        """Whether the second is better. Raises what a wrong kernel raises."""
        ...


class Predicted:
    """By what machine code counts, without a GPU."""

    basis = Basis.PREDICTED
    notes = (_NO_TIME,)

    def __init__(self, arch: str | None, policy: Policy, progress: Progress | None) -> None:
        self._arch = arch
        self._policy = policy
        self._progress = progress
        self._known: dict[bytes, Capture] = {}
        self._writes_all = False

    def first(self, source: Path) -> Diagnosis:
        found = self._of(source)
        self._writes_all = not _unwritten(found, source)
        return found.diagnose()

    def judged(self, before: Path, after: Path) -> Judgement:
        sides = self._of(before), self._of(after)
        if self._writes_all and (few := _unwritten(sides[1], after)):
            raise Refused(Decision.WRONG, few)
        result = changes.gate(*sides, policy=self._policy, rename=_renamed(*sides))
        (kernel,) = result.kernels
        codes = {each.code for each in kernel.findings}
        decision = _declined(result)
        if decision is None:
            # What is counted must not be the same: that is no improvement.
            better = Code.COUNTER_BETTER in codes and not kernel.kernel.same_code
            decision = Decision.KEPT if better else Decision.NOT_BETTER
        reason = _why(result)
        if decision is Decision.NOT_BETTER and result.outcome is Outcome.PASS:
            reason = "it counts nothing less"
        return Judgement(decision, reason, result, sides[1].diagnose())

    def _of(self, source: Path) -> Capture:
        """The prediction of a source; that of the best one is made once."""
        text = source.read_bytes()
        if text not in self._known:
            self._known[text] = prediction.predict(source, arch=self._arch, progress=self._progress)
        return self._known[text]


class Measured:
    """By times and counters, A B A B; where nothing can be measured, by recorded captures."""

    def __init__(self, policy: Policy, progress: Progress | None) -> None:
        self._policy = policy
        self._progress = progress
        self._recorded = False
        self._whole = False

    @property
    def basis(self) -> Basis:
        return Basis.RECORDED if self._recorded else Basis.MEASURED

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self._whole else (_ONLY_CHECKED,)

    def first(self, source: Path) -> Diagnosis:
        from kernelprof.collect import session
        from kernelprof.collect.request import NotMeasurableError, ProfileRequest

        request = ProfileRequest(source=source, samples=True)
        try:
            found = session.measure(request, progress=self._progress)
        except NotMeasurableError as error:
            raise MissingToolError(
                error.what,
                where=error.where,
                hint=f"judge proposals by prediction, without a GPU: --predict\n{error.hint}",
            ) from error
        self._recorded = found.recorded
        if not found.recorded:
            self._whole = self._may_be_checked(source)
        return _capture(source, found).diagnose()

    def judged(self, before: Path, after: Path) -> Judgement:
        from kernelprof.comparison import choice, sides
        from kernelprof.comparison.compare import compare
        from kernelprof.comparison.gate.judge import judge
        from kernelprof.comparison.gate.policy import load_policy
        from kernelprof.launch.overrides import LaunchOverrides

        if self._whole and (wrong := self._right_at_measured_sizes(after)) is not None:
            raise Refused(Decision.WRONG, f"at the sizes that it is measured at: {wrong.what}")
        captures: dict[Path, Capture] = {}

        def keep(source: Path, found: ProfileResult) -> None:
            captures[source] = _capture(source, found)

        both = sides.measure(
            before, after, LaunchOverrides(), progress=self._progress, measured=keep
        )
        names = choice.renames(_renamed(captures[before], captures[after]), *both)
        result = judge(compare(*both, names), load_policy(self._policy))
        (kernel,) = result.kernels
        change = kernel.kernel.time
        decision, reason = _declined(result), _why(result)
        if decision is None:
            faster = change.outcome is TimeOutcome.FASTER
            decision = Decision.KEPT if faster else Decision.NOT_BETTER
            if not faster:
                reason = f"its time: {change.outcome.value}"
        return Judgement(
            decision, reason, result, captures[after].diagnose(), _number(change.ratio)
        )

    def _may_be_checked(self, source: Path) -> bool:
        """Whether the original is right at the measured sizes, and this machine can tell."""
        try:
            return self._right_at_measured_sizes(source) is None
        except MissingToolError:
            return False

    def _right_at_measured_sizes(self, source: Path) -> KernelprofError | None:
        """What is wrong with the result of a source there; ``None`` where it is right."""
        from kernelprof.collect.progress import Progress
        from kernelprof.launch.overrides import LaunchOverrides
        from kernelprof.launch.prepare import prepare
        from kernelprof.launch.processes import Interrupts
        from kernelprof.launch.read_spec import load_spec
        from kernelprof.launch.source import read_source, sidecar
        from kernelprof.proposals.problem import at_measured_sizes

        spec, text = load_spec(source), read_source(source)
        if spec.check_sizes == spec.sizes:
            return None
        beside = sidecar(source)
        kept = beside.read_bytes() if beside.is_file() else None
        beside.unlink(missing_ok=True)
        source.write_text(at_measured_sizes(text, source, spec), encoding="utf-8")
        try:
            with (
                Interrupts() as interrupts,
                self._progress or Progress() as shown,
                prepare(source, LaunchOverrides(), interrupts, shown.say),
            ):
                return None
        except MissingToolError:
            raise
        except KernelprofError as error:
            return error
        finally:
            source.write_text(text, encoding="utf-8", newline="")
            if kept is not None:
                beside.write_bytes(kept)


def _capture(source: Path, found: ProfileResult) -> Capture:
    from kernelprof.sources.capture_directory import contents_of

    contents = contents_of(source, found.manifest, found.lines)
    return as_result(Capture, found.capture, contents=contents, recorded=found.recorded)


def _unwritten(found: Capture, source: Path) -> str:
    """Why a kernel cannot have written all of its outputs at the measured sizes; empty: it can.

    The result is compared at the sizes of the check, and a kernel may return early at others. Each
    store writes the bytes of its threads at most. An output with a ``fill`` need not be written.
    """
    from kernelprof.launch.elements import element_bytes
    from kernelprof.launch.read_spec import load_spec
    from kernelprof.launch.resolved import ResolvedArray

    known = found.prediction
    assert known is not None  # it was predicted
    wanted = sum(
        math.prod(each.shape) * element_bytes(each.argument.element)
        for each in load_spec(source).resolve().arguments
        if isinstance(each, ResolvedArray) and each.argument.output and each.argument.fill is None
    )
    written = sum(
        each.requests.high * _LANES * each.bytes_a_thread
        for each in known.counted.accesses
        if each.space not in _ELSEWHERE and each.kind != "load"
    )
    if written >= wanted:
        return ""
    most = f"at most {quantity(written, 'byte')} of {quantity(wanted, 'byte')} of its outputs"
    return f"at the sizes that it is measured at it writes {most}"


def _declined(result: GateResult) -> Decision | None:
    """What becomes of a proposal that the gate does not let pass."""
    if result.outcome is Outcome.PASS:
        return None
    if any(each.code is Code.WRONG_RESULT for kernel in result.kernels for each in kernel.findings):
        return Decision.WRONG
    regression = result.outcome is Outcome.REGRESSION
    return Decision.NOT_BETTER if regression else Decision.UNDECIDED


def _why(result: GateResult) -> str:
    from kernelprof.comparison.words import reason

    return reason(result)


def _renamed(before: Capture, after: Capture) -> list[str]:
    """The kernel's two names, where it has two."""
    old, new = (each.launches[0].kernel for each in (before, after))
    return [] if old == new else [f"{old}={new}"]


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
