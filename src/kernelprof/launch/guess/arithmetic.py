"""Numbers and operators of C, as amounts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch.guess import amounts

if TYPE_CHECKING:
    from kernelprof.launch.guess.amounts import Amount

_NUMBER: Final = re.compile(
    r"(0[xX][0-9a-fA-F']+|[0-9][0-9']*(?:\.0*)?(?:[eE]\+?[0-9]+)?)[uUlLfF]*"
)


def combined(operator: str, left: Amount, right: Amount) -> Amount | None:  # noqa: PLR0911
    """Two amounts by an operator of C."""
    shift = right.constant
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return amounts.divided(left, right)
        case "%":
            return amounts.remainder(left, right)
        case "<<" if shift is not None and 0 <= shift < 48:
            return left * amounts.number(1 << shift)
        case ">>" if shift is not None and 0 <= shift < 48:
            return amounts.divided(left, amounts.number(1 << shift))
    return None


def plain_number(text: str) -> Amount | None:
    """A whole number as C writes it; ``None`` for anything else."""
    written = _NUMBER.fullmatch(text.strip())
    if written is None:
        return None
    digits = written[1].replace("'", "")
    if digits[:2].lower() == "0x":
        return amounts.number(int(digits, 16))
    if digits.isdecimal():
        octal = len(digits) > 1 and digits[0] == "0" and set(digits) <= set("01234567")
        return amounts.number(int(digits, 8 if octal else 10))
    value = float(digits)
    return amounts.number(int(value)) if value.is_integer() and value < 1 << 53 else None
