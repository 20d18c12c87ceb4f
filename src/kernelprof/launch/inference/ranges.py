"""How large a value in a kernel can become, in terms of its launch and its parameters.

Names of amounts beside the sizes: ``block__x`` and ``grid__x`` are threads and blocks along an
axis, ``loaded__A`` is what the values in an array of whole numbers stay below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.amounts import apply_operator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.launch.inference.amounts import SizeExpr


ONE: Final = amounts.number(1)
ZERO: Final = amounts.number(0)


@dataclass(frozen=True)
class Range:
    """From ``low`` to ``high``, both included; ``None`` where unknown.

    ``blocks`` is the increase from one block to the next, by axis; ``arrays`` are those of
    integers that the value was loaded from.
    """

    high: SizeExpr | None
    low: SizeExpr | None = ZERO
    blocks: Mapping[str, SizeExpr] = field(default_factory=dict)
    arrays: frozenset[str] = frozenset()

    @property
    def exact(self) -> SizeExpr | None:
        """The value, if there is only one."""
        return self.high if self.high == self.low else None


UNKNOWN: Final = Range(None, None)


def exactly(amount: SizeExpr) -> Range:
    """One value."""
    return Range(amount, amount)


def builtin_range(variable: str, axis: str) -> Range | None:
    """``threadIdx.x`` and its like."""
    threads, blocks = amounts.size(f"block__{axis}"), amounts.size(f"grid__{axis}")
    match variable:
        case "threadIdx":
            return Range(threads - ONE)
        case "blockIdx":
            return Range(blocks - ONE, ZERO, {axis: ONE})
        case "blockDim":
            return exactly(threads)
        case "gridDim":
            return exactly(blocks)
    return None


def loaded_range(array: str) -> Range:
    """What an array of whole numbers holds."""
    return Range(amounts.size(f"loaded__{array}") - ONE, ZERO, {}, frozenset((array,)))


def join(one: Range, other: Range) -> Range:
    """Either of two."""
    if one == other:
        return one
    low = one.low if one.low == other.low else ZERO
    if one.low is None or other.low is None:
        low = None
    return Range(larger_known(one.high, other.high), low, {}, one.arrays | other.arrays)


def larger_known(one: SizeExpr | None, other: SizeExpr | None) -> SizeExpr | None:
    """The larger of two amounts."""
    if one is None or other is None:
        return None
    if one.never_below(other):
        return one
    return other if other.never_below(one) else amounts.larger(one, other)


def apply_to_ranges(operator: str, a: Range, b: Range) -> Range:
    """Two ranges by an operator of C."""
    arrays = a.arrays | b.arrays
    if operator == "%":
        top = None if b.high is None else b.high - ONE
        return Range(top, ZERO, {}, arrays)
    if operator == "&":
        mask = b.exact if b.exact is not None and b.exact.constant is not None else a.exact
        if mask is None or mask.constant is None or mask.constant < 0:
            return UNKNOWN
        return Range(mask, ZERO, {}, arrays)
    if operator not in {"+", "-", "*", "/", ">>", "<<"}:
        return UNKNOWN
    high = low = None
    if operator == "-":
        high = None if a.high is None or b.low is None else a.high - b.low
        low = None if a.low is None or b.high is None else a.low - b.high
    elif operator in {"/", ">>", "<<"}:
        if a.high is not None and b.exact is not None:
            high = apply_operator(operator, a.high, b.exact)
        low = ZERO if a.low == ZERO else None
        if a.exact is not None and b.exact is not None:
            low = high
    else:
        if a.high is not None and b.high is not None:
            high = apply_operator(operator, a.high, b.high)
        if a.low is not None and b.low is not None:
            low = apply_operator(operator, a.low, b.low)
    return Range(high, low, _blocks(operator, a, b), arrays)


def _blocks(operator: str, a: Range, b: Range) -> Mapping[str, SizeExpr]:
    if operator == "+":
        axes = {*a.blocks, *b.blocks}
        return {axis: a.blocks.get(axis, ZERO) + b.blocks.get(axis, ZERO) for axis in axes}
    if operator == "-":
        return a.blocks if not b.blocks else {}
    if operator in {"*", "<<"}:
        for one, other in ((a, b), (b, a)):
            if one.blocks and other.exact is not None and not other.blocks:
                factor = other.exact
                if operator == "<<":
                    if factor.constant is None or not 0 <= factor.constant < 32:
                        return {}
                    factor = amounts.number(1 << factor.constant)
                return {axis: each * factor for axis, each in one.blocks.items()}
    return {}


def smallest_known(tops: Sequence[SizeExpr]) -> SizeExpr | None:
    """The smallest of some amounts, as far as they can be compared; ``None`` of none."""
    least = None
    for each in tops:
        if least is None or least.never_below(each):
            least = each
    return least
