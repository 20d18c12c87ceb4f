"""Packages that only a fleet needs, which the extra ``fleet`` brings."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from kernelprof.errors import MissingToolError

HOW_TO_GET: Final = "pip install 'kernelprof[fleet]'"


def package(name: str, what: str) -> Any:
    """A package that may be missing; ``what`` it is for goes into the error."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingToolError(
            f"{what} needs the package {name.partition('.')[0]}, which is not installed here",
            where=str(error),
            hint=HOW_TO_GET,
        ) from error
