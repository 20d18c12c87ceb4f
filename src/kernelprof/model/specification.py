"""The shape of a launch specification as files hold it: what is read of it has these types.

:mod:`kernelprof.launch.spec` says what may be in one; here is only what comparisons look at.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

import msgspec

from kernelprof.model.records import RecordError

NO_REFERENCE: Final = "none"
"""The reference of a kernel whose result is not checked."""

TOLERANCE: Final = 1e-5
"""The largest relative error of a result where a specification names none."""


class _Check(TypedDict, total=False):
    sizes: dict[str, Any] | None


class _Compile(TypedDict, total=False):
    defines: dict[str, Any] | None


class _Argument(TypedDict, total=False):
    fill: str | None
    output: bool | None


class _Specification(TypedDict, total=False):
    kernel: str | None
    reference: str | None
    sizes: dict[str, Any] | None
    check: _Check | None
    arguments: list[_Argument] | None
    launch: dict[str, Any] | None
    compile: _Compile | None


def check_shape(specification: dict[str, Any] | None) -> None:
    """Raise :class:`RecordError` where a part of a specification is of another kind."""
    if specification is None:
        return
    try:
        msgspec.convert(specification, _Specification)
    except msgspec.ValidationError as error:
        raise RecordError(f"its launch specification cannot be: {error}") from error
