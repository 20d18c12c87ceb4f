"""What a kernel's result has to be, in float64 over NumPy: built-in, or the user's function.

Also calls the functions that a specification names as ``"module:function"``.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelprof.errors import KernelprofError
from kernelprof.launch.spec import NO_REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]


class BadFunctionError(KernelprofError):
    """A function that does not exist, does not fit what it is given, or fails."""


class BadReferenceError(KernelprofError):
    """A reference that does not exist, does not fit the arguments, or fails."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a reference is given: values before the launch, floating-point ones as float64."""

    inputs: Mapping[str, Array]
    """The arrays that the kernel only reads, in the order of its parameters."""
    outputs: Mapping[str, Array]
    """The arrays that it writes, as they were filled; a poisoned one holds NaN."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Builtin:
    """A reference that comes with kernelprof: the arrays of outputs from those of a case."""

    name: str
    summary: str
    inputs: int
    compute: Callable[[Case], Array]


_BUILTINS: dict[str, Builtin] = {}


def builtins() -> Mapping[str, Builtin]:
    """All built-in references by name."""
    return _BUILTINS


def find_builtin(name: str) -> Builtin:
    """The built-in of that name."""
    if name in _BUILTINS:
        return _BUILTINS[name]
    raise BadReferenceError(
        f"there is no built-in reference {name!r}",
        hint=f'built-in are {", ".join(_BUILTINS)}; "module:function" names one of yours, '
        f'"{NO_REFERENCE}" goes without',
    )


def expected(reference: str, case: Case, folder: Path) -> dict[str, Array]:
    """The outputs as they have to be, by name. Modules are looked for in ``folder`` first."""
    import numpy as np

    if ":" in reference:
        results = _user_results(reference, case, folder)
    else:
        results = _builtin_results(find_builtin(reference), case)
    checked = {}
    for name, given in case.outputs.items():
        try:
            result = np.asarray(results[name])
        except ValueError as error:
            raise BadReferenceError(
                f"the reference's {name} is not an array: {error}",
                where=reference,
                hint="return rows of equal length",
            ) from error
        if result.dtype.kind not in "biuf":
            raise BadReferenceError(
                f"the reference's {name} is of type {result.dtype}",
                where=reference,
                hint="return real numbers",
            )
        if result.size != given.size:
            raise BadReferenceError(
                f"the reference's {name} has shape {result.shape}, the argument {given.shape}",
                where=reference,
                hint="return one element for each of the argument's",
            )
        checked[name] = result.reshape(given.shape)
    return checked


def relative_error(result: Array, reference: Array) -> float:
    """The Frobenius norm of the difference over that of the reference; NaN where either has one."""
    import numpy as np

    reference = np.asarray(reference, dtype=np.float64)
    difference = float(np.linalg.norm((np.asarray(result, dtype=np.float64) - reference).ravel()))
    size = float(np.linalg.norm(reference.ravel()))
    return difference / size if size else difference


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
            f"the parameters of the function cannot be determined: {error}",
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


def _builtin_results(builtin: Builtin, case: Case) -> dict[str, Array]:
    if len(case.inputs) != builtin.inputs or len(case.outputs) != 1:
        raise BadReferenceError(
            f"the reference {builtin.name!r} ({builtin.summary}) takes {builtin.inputs} input "
            f"arrays and one output; the kernel has {len(case.inputs)} and {len(case.outputs)}",
            hint='mark outputs with output = true, or name a function of yours: "module:function"',
        )
    name = next(iter(case.outputs))
    try:
        return {name: builtin.compute(case)}
    except ValueError as error:
        shapes = [f"{key} {value.shape}" for key, value in case.inputs.items()]
        raise BadReferenceError(
            f"the reference {builtin.name!r} does not fit the shapes {', '.join(shapes)}: {error}",
            hint=f"it computes {builtin.summary}",
        ) from error


def _user_results(reference: str, case: Case, folder: Path) -> Mapping[str, Array]:
    known: dict[str, Any] = {**case.sizes, **case.scalars, **case.outputs, **case.inputs}
    known = {k: v.copy() if hasattr(v, "copy") else v for k, v in known.items()}
    result = call(reference, known, folder)
    names = list(case.outputs)
    if isinstance(result, dict):
        missing = [name for name in names if name not in result]
    else:
        values = list(result) if isinstance(result, tuple) else [result]
        result = dict(zip(names, values, strict=False))
        missing = names[len(values) :]
    if missing:
        raise BadReferenceError(
            f"the function gave no result for the output {missing[0]!r}",
            where=reference,
            hint="return an array for each output: a dict by name, or a tuple in their order",
        )
    return result


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


def _builtin(name: str, summary: str, inputs: int) -> Callable[[Any], Any]:
    def register(compute: Callable[[Case], Array]) -> Callable[[Case], Array]:
        _BUILTINS[name] = Builtin(name, summary, inputs, compute)
        return compute

    return register


def _matrix(case: Case, which: int, rows: str, columns: str) -> Array:
    """An input as a matrix: as it is shaped, or by the sizes of these names if it is flat."""
    array = list(case.inputs.values())[which]
    if array.ndim == 2:
        return array
    if rows not in case.sizes or columns not in case.sizes:
        raise ValueError(f"a flat array, and no sizes {rows} and {columns}")
    return array.reshape(case.sizes[rows], case.sizes[columns])


def _first(case: Case) -> Array:
    return next(iter(case.inputs.values()))


def _output(case: Case) -> Array:
    return next(iter(case.outputs.values()))


def _scaled(case: Case, product: Array) -> Array:
    """``alpha * product + beta * C``, where the kernel has such scalars."""
    result: Array = case.scalars.get("alpha", 1.0) * product
    beta = case.scalars.get("beta", 0.0)
    return result + beta * _output(case).reshape(result.shape) if beta else result


@_builtin("gemm", "C[M,N] = alpha * A[M,K] @ B[K,N] + beta * C", 2)
def _gemm(case: Case) -> Array:
    return _scaled(case, _matrix(case, 0, "M", "K") @ _matrix(case, 1, "K", "N"))


@_builtin("gemm_nt", "C[M,N] = alpha * A[M,K] @ B[N,K].T + beta * C: B is stored transposed", 2)
def _gemm_nt(case: Case) -> Array:
    return _scaled(case, _matrix(case, 0, "M", "K") @ _matrix(case, 1, "N", "K").T)


@_builtin("gemm_tn", "C[M,N] = alpha * A[K,M].T @ B[K,N] + beta * C: A is stored transposed", 2)
def _gemm_tn(case: Case) -> Array:
    return _scaled(case, _matrix(case, 0, "K", "M").T @ _matrix(case, 1, "K", "N"))


@_builtin("gemv", "y[M] = alpha * A[M,N] @ x[N] + beta * y", 2)
def _gemv(case: Case) -> Array:
    return _scaled(case, _matrix(case, 0, "M", "N") @ list(case.inputs.values())[1].ravel())


@_builtin("copy", "y = x", 1)
def _copy(case: Case) -> Array:
    return _first(case)


@_builtin("transpose", "B[N,M] = A[M,N].T", 1)
def _transpose(case: Case) -> Array:
    return _matrix(case, 0, "M", "N").T


@_builtin("scale", "y = a * x, with the kernel's only scalar that is no size as a", 1)
def _scale(case: Case) -> Array:
    return _factor(case) * _first(case)


@_builtin("add", "z = x + y", 2)
def _add(case: Case) -> Array:
    first, second = case.inputs.values()
    total: Array = first + second
    return total


@_builtin("saxpy", "y = a * x + y, with y in and out", 1)
def _saxpy(case: Case) -> Array:
    result: Array = _factor(case) * _first(case) + _output(case)
    return result


@_builtin("sum", "the sum of x", 1)
def _sum(case: Case) -> Array:
    return _single(math.fsum(_first(case).ravel()))


@_builtin("max", "the largest of x", 1)
def _max(case: Case) -> Array:
    return _single(_first(case).max())


@_builtin("dot", "the sum of x * y", 2)
def _dot(case: Case) -> Array:
    first, second = case.inputs.values()
    return _single(math.fsum((first * second).ravel()))


@_builtin("softmax", "each row's exp(x) over its sum", 1)
def _softmax(case: Case) -> Array:
    import numpy as np

    x = _matrix(case, 0, "M", "N")
    powers: Array = np.exp(x - x.max(axis=1, keepdims=True))
    result: Array = powers / powers.sum(axis=1, keepdims=True)
    return result


def _factor(case: Case) -> float:
    """The scalar that scales: ``a`` or ``alpha``, else the only one that no size is called."""
    for name in ("a", "alpha"):
        if name in case.scalars:
            return case.scalars[name]
    others = [value for name, value in case.scalars.items() if name not in case.sizes]
    if len(others) != 1:
        raise ValueError("no scalar is called a or alpha")
    return others[0]


def _single(value: np.floating[Any] | float) -> Array:
    import numpy as np

    return np.array([value], dtype=np.float64)
