"""The libraries of the extra ``gpu``, which only those have who launch kernels."""

from __future__ import annotations

import importlib
from typing import Any

from kernelprof.errors import MissingToolError


def library(module: str, who: str) -> Any:
    """A module of one of them; :class:`MissingToolError` says ``who`` is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingToolError(
            f"{who} cannot be imported: {error}",
            hint="on a machine with a GPU: pip install 'kernelprof[gpu]'",
        ) from error
