"""Sizes and defines as they are written on a command line: ``M=2048``, ``TILE=16``."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.launch.spec import Define

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_FRACTION = re.compile(r"-?[0-9]+(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)")


def parse_size(text: str) -> tuple[str, int]:
    """``NAME=VALUE`` with a whole number from 1 on."""
    name, found, value = text.partition("=")
    fits = found and _NAME.fullmatch(name) and re.fullmatch(r"[0-9]{1,15}", value)
    if not fits or int(value) < 1:
        raise UsageError(
            f"--size {text!r} is no NAME=VALUE with a whole number from 1 on",
            hint="for example --size M=2048",
        )
    return name, int(value)


def parse_define(text: str) -> tuple[str, Define]:
    """``NAME=VALUE``, or ``NAME`` for the value 1, as ``nvcc -D`` takes it.

    What is no plain number stays text, such as ``010``, which C reads as 8.
    """
    name, found, value = text.partition("=")
    if not _NAME.fullmatch(name):
        raise UsageError(f"--define {text!r} is no NAME=VALUE", hint="for example --define TILE=16")
    if not found:
        return name, 1
    if _WHOLE.fullmatch(value):
        return name, int(value)
    if _FRACTION.fullmatch(value) and math.isfinite(float(value)):
        return name, float(value)
    return name, value


def arguments(sizes: Mapping[str, int], defines: Mapping[str, Define]) -> Sequence[str]:
    """The options that give these sizes and defines."""
    words: list[str] = []
    for name, size in sizes.items():
        words += ["--size", f"{name}={size}"]
    for name, value in defines.items():
        words += ["--define", f"{name}={value}"]
    return words
