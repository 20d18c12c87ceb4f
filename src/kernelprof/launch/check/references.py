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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.launch.source import module_path
from kernelprof.model.specification import NO_REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]


class BadFunctionError(KernelprofError):
    """A reference or fill function that does not exist, does not fit, or fails."""


@dataclass(frozen=True, slots=True)
class Case:
    """The inputs of a reference: values before the launch, floating-point ones as float64."""

    inputs: Mapping[str, Array]
    """The arrays that the kernel only reads, in the order of its parameters."""
    outputs: Mapping[str, Array]
    """The arrays that it writes, as they were filled; a poisoned one holds NaN."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def matrix(self, which: int, rows: str, columns: str) -> Array:
        """Return an input as a matrix: as shaped, or by the sizes of these names if flat."""
        array = list(self.inputs.values())[which]
        if array.ndim == 2:
            return array
        if rows not in self.sizes or columns not in self.sizes:
            raise ValueError(
                f"without sizes {rows} and {columns}, a flat array cannot be read as a matrix"
            )
        return array.reshape(self.sizes[rows], self.sizes[columns])

    def scaled(self, product: Array) -> Any:
        """Return ``alpha * product + beta * C``, with the scalars that the kernel has."""
        result = self.scalars.get("alpha", 1.0) * product
        beta = self.scalars.get("beta", 0.0)
        before = next(iter(self.outputs.values()))
        return result + beta * before.reshape(result.shape) if beta else result

    @property
    def factor(self) -> float:
        """Return the scalar ``a`` or ``alpha``, else the only scalar that is no size."""
        for name in ("a", "alpha"):
            if name in self.scalars:
                return self.scalars[name]
        others = [value for name, value in self.scalars.items() if name not in self.sizes]
        if len(others) != 1:
            raise ValueError(
                "the factor cannot be determined: its parameter must be named a or alpha"
            )
        return others[0]


class Builtin(NamedTuple):
    """A built-in reference, which computes one output from the input arrays of a case."""

    name: str
    summary: str
    inputs: int
    compute: Callable[..., Any]


def _softmax(case: Case, _x: Array) -> Any:
    x = case.matrix(0, "M", "N")
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _gemm(a: str, b: str) -> Callable[..., Any]:
    """The product of matrices whose axes are stored in this order."""

    def compute(case: Case, _a: Array, _b: Array) -> Any:
        left, right = case.matrix(0, *a), case.matrix(1, *b)
        left = left if a == "MK" else left.T
        return case.scaled(left @ (right if b == "KN" else right.T))

    return compute


_ALL: Final = (
    Builtin("gemm", "C[M,N] = alpha * A[M,K] @ B[K,N] + beta * C", 2, _gemm("MK", "KN")),
    Builtin(
        "gemm_nt",
        "C[M,N] = alpha * A[M,K] @ B[N,K].T + beta * C: B is stored transposed",
        2,
        _gemm("MK", "NK"),
    ),
    Builtin(
        "gemm_tn",
        "C[M,N] = alpha * A[K,M].T @ B[K,N] + beta * C: A is stored transposed",
        2,
        _gemm("KM", "KN"),
    ),
    Builtin(
        "gemv",
        "y[M] = alpha * A[M,N] @ x[N] + beta * y",
        2,
        lambda case, _a, x: case.scaled(case.matrix(0, "M", "N") @ x.ravel()),
    ),
    Builtin("copy", "y = x", 1, lambda _case, x: x),
    Builtin("transpose", "B[N,M] = A[M,N].T", 1, lambda case, _a: case.matrix(0, "M", "N").T),
    Builtin(
        "scale",
        "y = a * x, where a is the scalar named a or alpha, or the only scalar that is not a size",
        1,
        lambda case, x: case.factor * x,
    ),
    Builtin("add", "z = x + y", 2, lambda _case, x, y: x + y),
    Builtin(
        "saxpy",
        "y = a * x + y, where y is input and output",
        1,
        lambda case, x: case.factor * x + next(iter(case.outputs.values())),
    ),
    Builtin("sum", "the sum of x", 1, lambda _case, x: math.fsum(x.ravel())),
    Builtin("max", "the maximum of x", 1, lambda _case, x: x.max()),
    Builtin("dot", "the sum of x * y", 2, lambda _case, x, y: math.fsum((x * y).ravel())),
    Builtin("softmax", "exp(x) / sum(exp(x)) of each row", 1, _softmax),
)
BUILTINS: Final = {each.name: each for each in _ALL}


def find_builtin(name: str, inputs: int, outputs: int) -> Builtin:
    """Return the built-in of that name, if it fits the numbers of inputs and outputs."""
    builtin = BUILTINS.get(name)
    if builtin is None:
        raise BadFunctionError(
            f"there is no built-in reference {name!r}",
            hint=f'built-in references: {", ".join(BUILTINS)}; "module:function" names your own '
            f'function, "{NO_REFERENCE}" skips the check',
        )
    if (inputs, outputs) != (builtin.inputs, 1):
        raise BadFunctionError(
            f"the reference {name!r} ({builtin.summary}) takes {builtin.inputs} input "
            f"array{'s' * (builtin.inputs != 1)} and one output; the kernel has {inputs} "
            f"input{'s' * (inputs != 1)} and {outputs} output{'s' * (outputs != 1)}",
            hint='mark outputs with output = true, or name your own function: "module:function"',
        )
    return builtin


def compute_expected(reference: str, case: Case, folder: Path) -> dict[str, Array]:
    """Compute the expected outputs by name. ``folder`` is searched for modules first."""
    if ":" in reference:
        results = _user_results(reference, case, folder)
    else:
        results = _builtin_results(reference, case)
    checked = {}
    for name, given in case.outputs.items():
        try:
            result = np.asarray(results[name])
        except ValueError as error:
            raise BadFunctionError(
                f"the reference's {name} is not an array: {error}",
                where=reference,
                hint="return rows of equal length",
            ) from error
        if result.dtype.kind not in "biuf" or result.size != given.size:
            raise BadFunctionError(
                f"the reference's {name} has shape {result.shape} and type {result.dtype}, but "
                f"the argument has shape {given.shape}",
                where=reference,
                hint="return one real number for each element of the argument",
            )
        checked[name] = result.reshape(given.shape)
    return checked


def relative_error(result: Array, reference: Array) -> float:
    """Return the relative Frobenius error; NaN where either array has one."""
    reference = np.asarray(reference, dtype=np.float64)
    difference = float(np.linalg.norm((np.asarray(result, dtype=np.float64) - reference).ravel()))
    size = float(np.linalg.norm(reference.ravel()))
    return difference / size if size else difference


def call_function(name: str, values: Mapping[str, Any], folder: Path) -> Any:
    """Call ``module:function`` with the values that its parameters name.

    Arrays are copies. ``folder`` is searched before the installed modules.
    """
    function = _load(name, folder)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError) as error:
        raise BadFunctionError(
            f"the parameters of the function cannot be determined: {error}",
            where=name,
            hint="wrap the function in a Python function whose parameters have the names of "
            "the arguments",
        ) from error
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        wanted = dict(values)
    else:
        unknown = [p.name for p in parameters if p.name not in values and p.default is p.empty]
        if unknown:
            raise BadFunctionError(
                f"the function has a parameter {unknown[0]!r}, but no argument or size has that "
                "name",
                where=name,
                hint=f"available: {', '.join(values)}",
            )
        wanted = {p.name: values[p.name] for p in parameters if p.name in values}
    own = {key: value.copy() if hasattr(value, "copy") else value for key, value in wanted.items()}
    try:
        return function(**own)
    except Exception as error:
        raise BadFunctionError(
            f"the function failed: {type(error).__name__}: {error}", where=name
        ) from error


def _builtin_results(reference: str, case: Case) -> dict[str, Array]:
    builtin = find_builtin(reference, len(case.inputs), len(case.outputs))
    name = next(iter(case.outputs))
    try:
        return {name: builtin.compute(case, *case.inputs.values())}
    except ValueError as error:
        shapes = [f"{key} {value.shape}" for key, value in case.inputs.items()]
        raise BadFunctionError(
            f"the reference {reference!r} cannot be computed from {', '.join(shapes)}: {error}",
            hint=f"it computes {builtin.summary}",
        ) from error


def _user_results(reference: str, case: Case, folder: Path) -> Mapping[str, Array]:
    values_by_name: dict[str, Any] = {**case.sizes, **case.scalars, **case.outputs, **case.inputs}
    result = call_function(reference, values_by_name, folder)
    names = list(case.outputs)
    if isinstance(result, dict):
        missing = [name for name in names if name not in result]
    else:
        values = list(result) if isinstance(result, tuple) else [result]
        result = dict(zip(names, values, strict=False))
        missing = names[len(values) :]
    if missing:
        raise BadFunctionError(
            f"the function returned no result for the output {missing[0]!r}",
            where=reference,
            hint="return one array for each output, in a dict by name or in a tuple in order",
        )
    return result


def _load(name: str, folder: Path) -> Callable[..., Any]:
    module_name, _, function_name = name.partition(":")
    file = module_path(name, folder)
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
            hint=f"kernelprof looks for the module in {folder}, then among the installed modules",
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
