"""Guesses about a launch, completed and tried by running small cases of the kernel.

Lengths of arrays that the source leaves open are found by watching addresses at several sizes;
whole numbers in memory that addresses depend on are told from plain values by changing them. What
a case contradicts is not guessed.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Final

from kernelprof.errors import KernelprofError, MissingToolError
from kernelprof.launch.expressions import ExpressionError
from kernelprof.launch.guess import amounts
from kernelprof.launch.trial import WrongResultError
from kernelprof.predict.check import check
from kernelprof.predict.machine.faults import FaultError, OutsideError
from kernelprof.predict.probe import Probe, TooLongError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.guesses import Array, Guesses
    from kernelprof.launch.initialise import Proposal
    from kernelprof.predict.probe import Reached

    Sizes = dict[str, int]

_SECONDS: Final = 10.0
"""For one case."""
_SMALLEST: Final = 32
"""Sizes up to here stay as they are in all cases: they are parts of the problem."""
_FEW: Final = 16
_MANY: Final = 4096
"""What whole numbers stay below in the two cases that tell indices from values."""
_MOST_TIMES: Final = 4096
_SLACK: Final = 1.25
"""How much longer an array may be than what is reached of it, where nothing fits exactly."""


def complete(proposal: Proposal, progress: Callable[[str], object]) -> None:
    """Complete what was guessed, and take back what small cases contradict.

    Nothing is done where the compiler's packages are not installed, and where more than lengths of
    arrays is missing.
    """
    guesses = proposal.guesses
    if not _can_run(proposal):
        return
    progress(f"{proposal.path.name}: running small cases")
    try:
        _Completing(proposal).complete()
    except MissingToolError:
        return
    except TooLongError:
        guesses.trouble = ""
        guesses.remarks.append("a small case takes too long to be run: nothing was tried")
    except FaultError as error:
        guesses.trouble = f"the kernel goes wrong: {error.what}".replace("\n", " ")
    except KernelprofError as error:
        first = error.what.strip().splitlines()[0]
        guesses.remarks.append(f"nothing was tried: {first}")


def _can_run(proposal: Proposal) -> bool:
    guesses = proposal.guesses
    known = (guesses.kernel, guesses.block, guesses.grid, guesses.shared_bytes)
    if any(each is None for each in known) or guesses.macros:
        return False
    for parameter in proposal.kernel.parameters:
        name = parameter.name
        if parameter.pointer:
            array = guesses.arrays.get(name)
            if array is None or not array.element.type:
                return False
        elif guesses.values.get(name) is None:
            return False
    return True


class _Completing:
    """One proposal and its small cases."""

    def __init__(self, proposal: Proposal) -> None:
        self._proposal = proposal
        self._guesses: Guesses = proposal.guesses
        self._unknown = [n for n, a in self._guesses.arrays.items() if a.length is None]
        for name in self._unknown:
            self._guesses.arrays[name].length = amounts.number(1)
        try:
            self._probe = Probe(proposal.path, proposal.toml)
        finally:
            for name in self._unknown:
                self._guesses.arrays[name].length = None
        self._cases = list(_cases(self._guesses))

    def complete(self) -> None:
        """Find lengths, tell indices, and try the whole."""
        self._indices()
        found = self._measured()
        for name in self._unknown:
            self._fit(self._guesses.arrays[name], found)
        self._unknown = [n for n, a in self._guesses.arrays.items() if a.length is None]
        if self._unknown:
            return
        self._try()

    def _measured(self) -> list[tuple[Sizes, dict[str, Reached]]]:
        """What is reached in each case; lengths that turn out too short are unknown from there."""
        while True:
            try:
                return [(case, self._reached(case)) for case in self._cases]
            except OutsideError as error:
                name = self._left(error)
                if name is None:
                    raise
                self._unknown.append(name)

    def _left(self, error: OutsideError) -> str | None:
        """The array of known length that an access left, if it went behind its end."""
        words = error.diagnosis.split()
        if error.space != "global" or "behind" not in words:
            return None
        name = words[words.index("behind") + 1].rstrip(",")
        return name if name in self._guesses.arrays and name not in self._unknown else None

    def _reached(self, case: Sizes, limits: Mapping[str, int] | None = None) -> dict[str, Reached]:
        return self._probe.reached(case, self._unknown, limits or {}, seconds=_SECONDS)

    # Indices

    def _indices(self) -> None:
        """Tell whole numbers that addresses depend on from plain values."""
        case = self._cases[0]
        for name, array in self._guesses.arrays.items():
            plain = array.fill == "random" and array.limit is None and not array.output
            if not plain or "int" not in array.element.type or array.element.bytes == 1:
                continue
            everything = list(self._guesses.arrays)
            few, many = (
                self._open(case, everything, {name: limit}) for limit in (_FEW, _MANY)
            )
            if few is None or many is None:
                continue
            steps = {
                other: (many[other].end - few[other].end) / (_MANY - _FEW)
                for other in few.keys() & many.keys()
                if many[other].end > few[other].end and other in self._guesses.arrays
            }
            if steps:
                self._is_index(array, steps)

    def _open(
        self, case: Sizes, unknown: Sequence[str], limits: Mapping[str, int]
    ) -> dict[str, Reached] | None:
        try:
            return self._probe.reached(case, unknown, limits, seconds=_SECONDS)
        except (FaultError, TooLongError):
            return None

    def _is_index(self, array: Array, steps: Mapping[str, float]) -> None:
        """Addresses in other arrays grow with the values of this one."""
        name = max(steps, key=lambda each: steps[each])
        target = self._guesses.arrays[name]
        step = max(1, round(steps[name] / target.element.bytes))
        if target.length is not None:
            limit = amounts.divided(target.length, amounts.number(step))
            why = ""
        else:
            limit, why = array.length, ", taken to be as many as there are indices"
        if limit is not None:
            array.limit = limit
            array.why_fill = f"addresses in {name} follow from them{why}"
            self._again()

    def _again(self) -> None:
        """Take up what was changed in the specification."""
        unknown = [n for n, a in self._guesses.arrays.items() if a.length is None]
        for name in unknown:
            self._guesses.arrays[name].length = amounts.number(1)
        try:
            self._probe.respecify(self._proposal.toml)
        finally:
            for name in unknown:
                self._guesses.arrays[name].length = None

    # Lengths

    def _fit(self, array: Array, found: Sequence[tuple[Sizes, dict[str, Reached]]]) -> None:
        """The length of an array by what is reached of it in each case."""
        ends = [
            (case, -(-reached[array.name].end // array.element.bytes))
            for case, reached in found
            if array.name in reached
        ]
        if not ends:
            array.length, array.why = amounts.number(1), "the kernel never looks at it"
            return
        array.length = None
        length = fitted(ends, _factors(self._guesses))
        if length is not None:
            array.length = length
            array.why = f"as far as it reaches in {len(ends)} small cases"

    # The whole

    def _try(self) -> None:
        """Run the check as a diagnosis does, and some blocks at the real sizes."""
        self._probe.respecify(self._proposal.toml)
        spec, probe = self._probe.spec, self._probe
        bound = probe.bound(spec.check_sizes, {}, {})
        try:
            check(spec, bound, probe.source.parent, probe.source)
        except WrongResultError:
            self._guesses.why["reference"] = (
                f"the result is not that of {spec.reference}; it is not checked"
            )
            self._guesses.reference = None
            self._guesses.flops = self._guesses.min_bytes = None
            self._probe.respecify(self._proposal.toml)
        self._probe.corners(_SECONDS)


def _cases(guesses: Guesses) -> Iterator[Sizes]:
    """The check sizes, and for each size one case in which it is half as large."""
    yield dict(guesses.check_sizes)
    for name, value in guesses.check_sizes.items():
        if value > _SMALLEST and value % 2 == 0:
            yield {**guesses.check_sizes, name: value // 2}


def _factors(guesses: Guesses) -> list[Amount]:
    """What a length may be made of: sizes, and blocks with their threads."""
    found = [amounts.size(name) for name in guesses.check_sizes]
    for each in (*(guesses.grid or ()), *(guesses.block or ())):
        if each.constant is None and each not in found:
            found.append(each)
    return found


def fitted(ends: Sequence[tuple[Sizes, int]], factors: Sequence[Amount]) -> Amount | None:
    """A product of factors, times a number, plus a number, that is what was reached in each case.

    Without one that is exact, the shortest that is long enough in each case and little longer.
    """
    close: tuple[float, Amount] | None = None
    for count in range(min(4, len(factors)) + 1):
        for chosen in combinations(factors, count):
            product = amounts.number(1)
            for each in chosen:
                product = product * each
            try:
                values = [(product.value(case), end) for case, end in ends]
            except ExpressionError:
                continue
            exact = _line(values)
            if exact is not None:
                times, more = exact
                return product * amounts.number(times) + amounts.number(more)
            times = max(-(-end // value) for value, end in values)
            slack = max(times * value / end for value, end in values)
            if slack <= _SLACK and (close is None or slack < close[0]):
                close = slack, product * amounts.number(times)
    return None if close is None else close[1]


def _line(values: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """A factor and a number to add, by which all of the values give what they should."""
    (x, y), *others = values
    other = next(((a, b) for a, b in others if a != x), None)
    if other is None:
        return (0, y) if x == 1 and all(b == y for _, b in others) else None
    times, rest = divmod(y - other[1], x - other[0])
    more = y - times * x
    if rest or not 0 < times <= _MOST_TIMES or abs(more) > max(times, 64):
        return None
    return (times, more) if all(times * a + more == b for a, b in values) else None
