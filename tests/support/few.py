"""Parameters of which a part is tried: few by ``make test``, more by ``make test-all``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


_PARAM: Final = type(pytest.param())


def few(values: Iterable[Any], *tried: Any, why: str) -> list[Any]:
    """All but those that are ``tried`` are slow, and ``why``."""
    return [_param(each, slow=each not in tried, why=why) for each in values]


def one_in(every: int, values: Iterable[Any], *, why: str) -> list[Any]:
    """All but the first of each so many are slow, and ``why``."""
    return [_param(each, slow=at % every != 0, why=why) for at, each in enumerate(values)]


def part_of(every: int, values: Iterable[Any], *tried: Any, why: str) -> list[Any]:
    """The first of each so many is slow, and the others are exhaustive, but for those ``tried``."""
    return [
        _param(each, slow=each not in tried, why=why, exhaustive=at % every != 0)
        for at, each in enumerate(values)
    ]


def _param(value: Any, *, slow: bool, why: str, exhaustive: bool = False) -> Any:
    """``value`` is a ``pytest.param`` already, or the arguments of one."""
    if not isinstance(value, _PARAM):
        value = pytest.param(*(value if isinstance(value, tuple) else (value,)))
    mark = pytest.mark.exhaustive(why) if exhaustive else pytest.mark.slow(why)
    return pytest.param(*value.values, id=value.id, marks=[*value.marks, *([mark] if slow else [])])
