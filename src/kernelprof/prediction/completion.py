"""Guesses about a launch, completed and tried by running small cases of the kernel.

Lengths of arrays that the source leaves open are found by watching addresses at several sizes;
whole numbers in memory that addresses depend on are told from plain values by changing them. What
a case contradicts is not guessed.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kernelprof.errors import KernelprofError, MissingToolError
from kernelprof.launch.build.compilation import CompileError
from kernelprof.launch.check.arrays import count_poison
from kernelprof.launch.check.references import BUILTINS, BadFunctionError
from kernelprof.launch.inference import amounts, extents
from kernelprof.launch.inference.evidence import MOSTLY_POISONED, NOT_THAT_OF
from kernelprof.launch.inference.extents import (
    WHY_UNEVEN,
    fit_memory,
    halve_check_size,
    has_positive_extents,
    initialize_array,
    prune,
    reduce_sizes,
    uneven_values,
)
from kernelprof.launch.run.trial import LaunchError, WrongResultError
from kernelprof.model.specification import is_version
from kernelprof.prediction.architectures import DEFAULT_ARCH
from kernelprof.prediction.checking import check_results
from kernelprof.prediction.length_fit import fit_length
from kernelprof.prediction.probe import DYNAMIC_SHARED, Probe, TooLongError
from sassim.errors import SassimError
from sassim.faults import (
    FaultError,
    OutOfBoundsError,
    UninitializedReadError,
    WatchdogError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.evidence import GuessedArray, Guesses
    from kernelprof.launch.inference.proposal import SpecificationProposal
    from kernelprof.prediction.binding import BoundLaunch
    from kernelprof.prediction.probe import ReachedBytes

    Sizes = dict[str, int]
    ReachedCase = tuple[Sizes, ReachedBytes]

_SECONDS: Final = 4.0
"""Of CPU time, for one case."""
_MOST_SECONDS: Final = 12.0
"""The same for all cases until sizes are halved."""
_MOST_TRIES: Final = 4
_HALVES: Final = 4
"""Sizes that are halved before a case that took too long is tried again."""
_MUCH_SHARED: Final = 160 << 10
"""Bytes of dynamic shared memory in cases that find out how many are needed."""
_FITTED: Final = "the extent that the kernel accesses in"
"""How it begins what speaks for a length that was seen in small cases."""


_SMALLEST: Final = 32
"""Sizes up to here stay as they are in all cases: they are parts of the problem."""
_LIMITS: Final = (16, 4096, 8192)
"""What whole numbers stay below in the cases that tell indices from values."""
_NEAR: Final = 0.1
"""By how much what is reached may grow otherwise than in proportion to them: they are random."""
_UNEVEN_SECONDS: Final = 8.0
"""Of CPU time, after which no other uneven check sizes are tried."""


class _ShortError(KernelprofError):
    """A length that was seen in small cases and is too short in others; nothing else is known."""


def complete_specification(
    proposal: SpecificationProposal, progress: Callable[[str], object]
) -> None:
    """Complete what was guessed, and take back what small cases contradict.

    Nothing is done where the compiler's packages are not installed, and where more than lengths of
    arrays is missing.
    """
    guesses = proposal.guesses
    if not _can_run(proposal):
        return
    progress(f"{proposal.path.name}: running small test launches")
    try:
        _complete_in_time(proposal)
    except MissingToolError:
        return
    except (FaultError, LaunchError) as error:
        what = " ".join(error.what.split())
        guesses.trouble = f"with the inferred values, which may be wrong, the kernel fails: {what}"
    except _ShortError as error:
        guesses.remarks.append(error.what)
    except (KernelprofError, SassimError) as error:
        if isinstance(error, CompileError):
            guesses.refused = error
        first = error.what.strip().splitlines()[0]
        guesses.remarks.append(f"the inferred launch was not tested: {first}")


def _complete_in_time(proposal: SpecificationProposal) -> None:
    """Complete with smaller check sizes where a case takes too long, or much shared memory."""
    completing = _Completing(proposal)
    guesses, before = proposal.guesses, dict(proposal.guesses.check_sizes)
    for _ in range(_MOST_TRIES):
        try:
            completing.complete()
        except (TooLongError, WatchdogError, OutOfBoundsError) as error:
            if isinstance(error, OutOfBoundsError) and not completing.is_open(error.space):
                raise
            smaller = [halve_check_size(guesses) for _ in range(_HALVES)]
            if not smaller[0]:
                if isinstance(error, FaultError):
                    raise
                break
            reduce_sizes(guesses)
            completing.again()
        else:
            return
    guesses.check_sizes = {name: before[name] for name in guesses.sizes}
    guesses.remarks.append("the inferred launch was not tested: small test launches take too long")


def _can_run(proposal: SpecificationProposal) -> bool:
    guesses = proposal.guesses
    required = (guesses.kernel, guesses.block, guesses.grid)
    if any(each is None for each in required) or guesses.macros:
        return False
    for parameter in proposal.kernel.parameters:
        name = parameter.name
        if parameter.pointer:
            array = guesses.arrays.get(name)
            if array is None or not array.element.type:
                return False
        elif guesses.values.get(name) is None and name not in guesses.structures:
            return False
    return all(each.element.type for each in guesses.arrays.values())


class _Completing:
    """One proposal and its small cases."""

    def __init__(self, proposal: SpecificationProposal) -> None:
        self._proposal = proposal
        self._guesses: Guesses = proposal.guesses
        self._unknown = [
            n
            for n, a in self._guesses.arrays.items()
            if a.length is None or "max(" in a.length.text
        ]
        self._shared_is_open = self._guesses.shared_bytes is None
        self._until = time.process_time() + _MOST_SECONDS
        self._probe = Probe(proposal.path, self._specify_all())
        self._cases = list(_make_cases(self._guesses))
        self._poisoned: list[str] = []
        self._reached_cases: list[ReachedCase] = []
        self._longer: list[ReachedCase] = []
        """Cases that left an array whose length was seen in the others."""
        self._tried: dict[str, set[str]] = {}
        """Lengths of arrays that were too short."""

    def again(self) -> None:
        """Begin anew with what the guesses are now."""
        self._respecify()
        self._until = time.process_time() + _MOST_SECONDS
        self._cases = list(_make_cases(self._guesses))

    def is_open(self, space: str) -> bool:
        """Whether it is still to be found out how much memory of a space is needed."""
        return space == "shared" and self._shared_is_open

    def complete(self) -> None:
        """Find lengths, tell indices, and try the whole."""
        self._find_indices()
        self._reached_cases = reached_cases = self._reach_cases()
        for name in self._unknown:
            self._fit_length(self._guesses.arrays[name], reached_cases)
        if self._shared_is_open:
            ends = [(case, reached[DYNAMIC_SHARED]) for case, reached in reached_cases]
            self._guesses.shared_bytes = fit_length(ends, _list_factors(self._guesses))
            self._guesses.why["shared_bytes"] = f"{_FITTED} {len(ends)} small test launches"
        self._unknown = [n for n, a in self._guesses.arrays.items() if a.length is None]
        fit_memory(self._guesses, self._probe.static_shared_bytes)
        prune(self._guesses)
        self._shared_is_open = False
        if not self._unknown and self._guesses.shared_bytes is not None:
            self._try_whole()

    def _reach_cases(self) -> list[ReachedCase]:
        """What is reached in each case; lengths that turn out too short are unknown from there."""
        while True:
            try:
                return [(case, self._reached(case)) for case in self._cases]
            except OutOfBoundsError as error:
                name = self._array_left(error)
                if name is None:
                    raise
                self._unknown.append(name)

    def _array_left(self, error: OutOfBoundsError) -> str | None:
        """The array of known length that an access left, if it went behind its end."""
        words = error.diagnosis.split()
        if error.space != "global" or "past" not in words:
            return None
        name = words[words.index("past") + 1].rstrip(",")
        return name if name in self._guesses.arrays and name not in self._unknown else None

    def _reached(self, case: Sizes) -> ReachedBytes:
        return self._probe.reached(case, self._unknown, {}, seconds=self._seconds_left())

    def _seconds_left(self) -> float:
        """CPU time that the next case may take."""
        left = self._until - time.process_time()
        if left <= 0:
            raise TooLongError("the small test launches together exceed the time limit")
        return min(_SECONDS, left)

    # Indices

    def _find_indices(self) -> None:
        """Tell whole numbers that addresses depend on from plain values."""
        case = self._cases[0]
        for name, array in self._guesses.arrays.items():
            plain = array.fill == "random" and array.limit is None and not array.output
            if not plain or "int" not in array.element.type or array.element.bytes == 1:
                continue
            everything = list(self._guesses.arrays)
            ends = [self._reach_openly(case, everything, {name: limit}) for limit in _LIMITS]
            steps = _find_steps([each for each in ends if each is not None])
            steps = {n: step for n, step in steps.items() if n in self._guesses.arrays}
            if steps:
                self._limit_index(array, steps)

    def _reach_openly(
        self, case: Sizes, unknown: Sequence[str], limits: Mapping[str, int]
    ) -> ReachedBytes | None:
        try:
            return self._probe.reached(case, unknown, limits, seconds=self._seconds_left())
        except (FaultError, TooLongError):
            return None

    def _limit_index(self, array: GuessedArray, steps: Mapping[str, float]) -> None:
        """Addresses in other arrays grow with the values of this one."""
        name = max(steps, key=lambda each: steps[each])
        target = self._guesses.arrays[name]
        step = max(1, round(steps[name] / target.element.bytes))
        if target.length is not None:
            limit = amounts.divide(target.length, amounts.constant_size(step))
            why = ""
        else:
            limit, why = array.length, ", whose length is assumed equal to the number of indices"
        if limit is not None:
            array.limit = limit
            array.why_fill = f"used to address {name}{why}"
            self._respecify()

    def _respecify(self) -> None:
        self._probe.respecify(self._specify_all())

    def _specify_all(self) -> str:
        """The specification with something in the place of what is not known."""
        guesses = self._guesses
        open_ = [a for a in guesses.arrays.values() if a.length is None]
        for each in open_:
            each.length = amounts.constant_size(1)
        if self._shared_is_open:
            guesses.shared_bytes = amounts.constant_size(_MUCH_SHARED)
        text = self._proposal.toml
        for each in open_:
            each.length = None
        if self._shared_is_open:
            guesses.shared_bytes = None
        return text

    # Lengths

    def _fit_length(self, array: GuessedArray, reached_cases: Sequence[ReachedCase]) -> None:
        """The length of an array by what is reached of it in each case."""
        ends = _reached_ends(array, reached_cases)
        if not ends:
            array.length, array.why = amounts.constant_size(1), "the kernel never accesses it"
            return
        array.length = None
        length = fit_length(ends, _list_factors(self._guesses))
        if length is not None:
            array.length = length
            array.why = f"{_FITTED} {len(ends)} small test launches"

    def _run_with_room(
        self, run: Callable[[], object], reach: Callable[[Sequence[str]], ReachedCase]
    ) -> None:
        """Run something; arrays whose length was seen in small cases may turn out to be longer.

        ``reach`` tells how far the same goes where such arrays have no end.
        """
        while True:
            try:
                run()
            except (OutOfBoundsError, LaunchError) as error:
                fault = error if isinstance(error, OutOfBoundsError) else error.__cause__
                name = self._array_left(fault) if isinstance(fault, OutOfBoundsError) else None
                array = self._guesses.arrays.get(name or "")
                if array is None or not array.why.startswith(_FITTED):
                    raise
                self._lengthen(array, reach)
            else:
                return

    def _lengthen(self, array: GuessedArray, reach: Callable[[Sequence[str]], ReachedCase]) -> None:
        """Find a length for one case more, else take that of an array indexed the same way."""
        guesses = self._guesses
        tried = self._tried.setdefault(array.name, set())
        assert array.length is not None  # it was known, and left
        tried.add(array.length.text)
        fitted = [each.name for each in guesses.arrays.values() if each.why.startswith(_FITTED)]
        with suppress(FaultError, TooLongError):
            self._longer.append(reach(fitted))
        ends = _reached_ends(array, [*self._reached_cases, *self._longer])
        length = fit_length(ends, _list_factors(guesses))
        if length is not None and length.text not in tried:
            array.length, array.why = length, f"{_FITTED} {len(ends)} small test launches"
            return
        longer = [
            (other.length.value(guesses.sizes), other.name, other.length)
            for other in guesses.arrays.values()
            if other.length is not None and other.length.text not in tried
            if all(other.length.value(case) >= end for case, end in ends)
        ]
        if not longer:
            array.length, array.why = None, ""
            raise _ShortError(
                f"the length of {array.name} is unknown: at larger sizes the kernel accesses more "
                "of it than the small test launches suggest"
            )
        _, name, array.length = min(longer, key=lambda each: each[:2])
        array.why = f"{_FITTED} small test launches, extended to the length of {name}"

    # The whole

    def _try_whole(self) -> None:
        """Run some blocks at the real sizes, and the check as a diagnosis does."""
        with suppress(TooLongError):
            self._run_with_room(self._run_corners, self._reach_corners)
        self._choose_check_sizes()
        self._shorten_arrays()
        if self._poisoned:
            self._guesses.remarks.append(
                f"{MOSTLY_POISONED}{', '.join(self._poisoned)} is not written at the check "
                "sizes: the grid or the argument values may be wrong"
            )

    def _choose_check_sizes(self) -> None:
        """Choose check sizes that are no multiples of a block, as far as the kernel is right there.

        Where it goes wrong at those alone, it keeps to multiples, and that is reported.
        """
        guesses = self._guesses
        wanted, multiples = uneven_values(guesses), dict(guesses.check_sizes)
        first = {name: values[0] for name, values in wanted.items()}
        if wanted and self._find_problem({**multiples, **first}) is None:
            guesses.why["check"] = WHY_UNEVEN
            return
        guesses.check_sizes = multiples
        self._refuse_wrong()
        if not wanted or guesses.differs:  # from another version, at any sizes
            return
        until = time.process_time() + _UNEVEN_SECONDS
        for name, values in wanted.items():
            if time.process_time() < until and (wrong := self._try_values(name, values)):
                used = "the check uses multiples of the block or tile size, because the kernel "
                guesses.remarks.append(f"{used}fails at {name} = {values[0]}: {wrong}")
        self._refuse_wrong()

    def _try_values(self, name: str, values: Sequence[int]) -> str | None:
        """Take the first value of a size that is right; what is wrong with the first if none is."""
        before, wrong = self._guesses.check_sizes, []
        for value in values:
            problem = self._find_problem({**before, name: value})
            if problem is None:
                return None
            wrong.append(problem)
        self._guesses.check_sizes = before
        return wrong[0]

    def _find_problem(self, sizes: Sizes) -> str | None:
        """What is wrong with the kernel at these check sizes, which become those of the guess."""
        self._guesses.check_sizes = sizes
        try:
            self._run_check()
        except (FaultError, LaunchError) as error:
            return " ".join(error.what.split())
        return None

    def _refuse_wrong(self) -> None:
        """Refuse what goes wrong; a reference that the result contradicts is taken back."""
        try:
            self._run_with_room(self._run_check, self._reach_check)
        except WrongResultError as error:
            reference = self._probe.spec.reference
            if is_version(reference):  # the kernel is wrong, not what is said of it
                self._guesses.differs = error.what
                return
            self._guesses.why["reference"] = f"{NOT_THAT_OF}{reference}, so no reference is used"
            self._drop_reference()

    def _drop_reference(self) -> None:
        """With the amounts of work, which were those of the same operation."""
        self._guesses.reference = None
        self._guesses.flops = self._guesses.min_bytes = None

    def _run_corners(self) -> None:
        self._probe.respecify(self._proposal.toml)
        self._probe.corners((), seconds=_SECONDS)

    def _reach_corners(self, unknown: Sequence[str]) -> ReachedCase:
        reached = self._probe.corners(unknown, seconds=_SECONDS)
        return dict(self._guesses.sizes), reached

    def _reach_check(self, unknown: Sequence[str]) -> ReachedCase:
        case = dict(self._guesses.check_sizes)
        return case, self._probe.reached(case, unknown, {}, seconds=_SECONDS)

    def _run_check(self) -> None:
        """Run the check; a guessed reference that does not fit the arrays is taken back."""
        probe = self._probe
        while True:
            probe.respecify(self._proposal.toml)
            spec = probe.spec
            bound = probe.bound(spec.check_sizes, {}, {})
            try:
                check_results(spec, bound, probe.source.parent, probe.source, DEFAULT_ARCH)
                break
            except BadFunctionError:
                if spec.reference not in BUILTINS:
                    raise
                self._guesses.why.pop("reference", None)
                self._drop_reference()
            except LaunchError as error:
                array = self._array_without_values(error.__cause__, bound)
                if array is None:
                    raise
                initialize_array(array, "read before it is written")
        self._poisoned = [
            each.name
            for each in spec.outputs
            if each.fill is None
            and 2 * count_poison(each.element, bound.array(each.name))
            > math.prod(bound.resolved.arrays[each.name].shape)
        ]

    def _array_without_values(
        self, fault: BaseException | None, bound: BoundLaunch
    ) -> GuessedArray | None:
        """The array that a fault read, if it was taken for one that is only written."""
        if not isinstance(fault, UninitializedReadError) or fault.space != "global":
            return None
        address = int(fault.addresses[0])
        for name, buffer in bound.buffers.items():
            array = self._guesses.arrays.get(name)
            if array is not None and buffer.base <= address < buffer.end and array.fill is None:
                return array
        return None

    def _shorten_arrays(self) -> None:
        """Arrays that are as long as whole blocks reach, where no thread reaches so far."""
        guesses = self._guesses
        long = [
            array
            for array in guesses.arrays.values()
            if array.length is not None
            and "ceil_div" in array.length.text
            and array.why == extents.AS_REACHED
        ]
        cases = [guesses.check_sizes, *self._cases]
        if not long or guesses.check_sizes in self._cases:
            return
        reached_cases = [(case, self._reached(case)) for case in cases]
        sizes = [amounts.parse_size(name) for name in guesses.check_sizes]
        for array in long:
            ends = _reached_ends(array, reached_cases)
            shorter = fit_length(ends, sizes) if len(ends) == len(cases) else None
            if shorter is not None and all(shorter.value(case) == end for case, end in ends):
                array.length = shorter
                array.why = f"{_FITTED} {len(ends)} small test launches"


def _reached_ends(
    array: GuessedArray, reached_cases: Sequence[ReachedCase]
) -> list[tuple[Sizes, int]]:
    """The elements of an array that are reached in each case, from its first."""
    return [
        (case, -(-reached[array.name] // array.element.bytes))
        for case, reached in reached_cases
        if array.name in reached
    ]


def _find_steps(ends: Sequence[ReachedBytes]) -> dict[str, float]:
    """Bytes by which the end of what is reached of an array grows with each number.

    It has to grow in proportion: how many numbers are zero, say, also depends on their limit.
    """
    if len(ends) < len(_LIMITS):
        return {}
    few, many, more = ends
    steps = {}
    for name in few.keys() & many.keys() & more.keys():
        step = (many[name] - few[name]) / (_LIMITS[1] - _LIMITS[0])
        next_step = (more[name] - many[name]) / (_LIMITS[2] - _LIMITS[1])
        if step > 0 and abs(next_step - step) <= _NEAR * step:
            steps[name] = step
    return steps


def _make_cases(guesses: Guesses) -> Iterator[Sizes]:
    """The check sizes, and for each size one case in which it is half, or twice, as large."""
    yield dict(guesses.check_sizes)
    for name, value in guesses.check_sizes.items():
        half = {**guesses.check_sizes, name: value // 2}
        if value > _SMALLEST and value % 2 == 0 and has_positive_extents(guesses, half):
            yield half
        elif guesses.sizes[name] > value > 1:
            yield {**guesses.check_sizes, name: value * 2}


def _list_factors(guesses: Guesses) -> list[SizeExpr]:
    """What a length may be made of: sizes, and blocks with their threads."""
    factors = [amounts.parse_size(name) for name in guesses.check_sizes]
    for each in (*(guesses.grid or ()), *(guesses.block or ())):
        if each.constant is None and each not in factors:
            factors.append(each)
    return factors
