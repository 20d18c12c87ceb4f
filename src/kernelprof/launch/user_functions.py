"""Functions of the user's that a specification names as ``"module:function"``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from typing import TYPE_CHECKING, Any

from kernelprof.errors import KernelprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


class BadFunctionError(KernelprofError):
    """A function that does not exist, does not fit what it is given, or fails."""


def call(name: str, known: Mapping[str, Any], folder: Path) -> Any:
    """What ``module:function`` gives, called with those of ``known`` that its parameters name.

    With ``**known`` it gets all of them. The module is looked for in ``folder``, then among the
    installed ones.
    """
    function = _load(name, folder)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError) as error:
        raise BadFunctionError(
            f"what the function takes cannot be told: {error}",
            where=name,
            hint="wrap it into a Python function whose parameters are called as the arguments",
        ) from error
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        wanted = dict(known)
    else:
        unknown = [p.name for p in parameters if p.name not in known and p.default is p.empty]
        if unknown:
            raise BadFunctionError(
                f"the function has a parameter {unknown[0]!r}, which no argument or size is called",
                where=name,
                hint=f"known are {', '.join(known)}",
            )
        wanted = {p.name: known[p.name] for p in parameters if p.name in known}
    try:
        return function(**wanted)
    except Exception as error:
        raise BadFunctionError(
            f"the function failed: {type(error).__name__}: {error}", where=name
        ) from error


def file_of(name: str, folder: Path) -> Path:
    """Where the module of ``module:function`` lies if it is one of ``folder``."""
    return folder.joinpath(*name.partition(":")[0].split(".")).with_suffix(".py")


def _load(name: str, folder: Path) -> Callable[..., Any]:
    module_name, _, function_name = name.partition(":")
    file = file_of(name, folder)
    before = list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        if file.is_file():
            spec = importlib.util.spec_from_file_location(f"_kernelprof_{module_name}", file)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(module_name)
    except Exception as error:
        raise BadFunctionError(
            f"the module {module_name!r} cannot be imported: {type(error).__name__}: {error}",
            where=name,
            hint=f"it is looked for in {folder}, then among the installed ones",
        ) from error
    finally:
        sys.path[:] = before
    function = getattr(module, function_name, None)
    if not callable(function):
        raise BadFunctionError(
            f"the module {module_name!r} has no function {function_name!r}", where=name
        )
    loaded: Callable[..., Any] = function
    return loaded
