"""The values of arguments: seeded fills, outputs poisoned with NaN, and a look at the result."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.files import refuse_special
from kernelprof.launch.elements import element_bytes, is_floating
from kernelprof.launch.keys import SpecError
from kernelprof.launch.libraries import library
from kernelprof.launch.references import Case, call, relative_error
from kernelprof.launch.resolved import ResolvedArray, ResolvedScalar, ResolvedStructure
from kernelprof.launch.structures import POINTER_BYTES
from kernelprof.model.specification import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from kernelprof.launch.expressions import Number
    from kernelprof.launch.resolved import ResolvedLaunch
    from kernelprof.launch.structures import Layout

    Array = npt.NDArray[Any]

POISON_BYTE = 0xCD
"""Fills outputs of integers, which have no NaN: a value that a kernel hardly writes by chance."""

_TELLING_BYTES = 4

_RANDOM_INTEGERS = 16
"""Random integers are 0 to 15: sums of many still fit."""
_DRAWN_AT_ONCE = 1 << 20
"""Random numbers that are drawn and encoded together."""


_SMALL: Final = {
    "bfloat16": "bfloat16",
    "float8_e4m3": "float8_e4m3fn",  # finite: one NaN, no infinity, as CUDA's
    "float8_e5m2": "float8_e5m2",
}
"""Types that NumPy does not have, as ``ml_dtypes`` calls them."""


def storage_type(type_name: str) -> np.dtype[Any]:
    """How an element lies in memory.

    Types that NumPy does not have travel as whole numbers with their bits, which every library
    copies; a bool travels as a byte, which can also hold the poison.
    """
    if type_name in _SMALL or type_name == "bool":
        return np.dtype(f"uint{8 * element_bytes(type_name)}")
    return np.dtype(type_name)


def _ml_dtypes() -> Any:
    """The library of small types, which comes with the extra ``gpu``."""
    return library("ml_dtypes", "ml-dtypes, which knows types that NumPy does not have,")


def fill(array: ResolvedArray, folder: Path, sizes: Mapping[str, int]) -> Array:
    """The array's values before the launch, as they lie in memory.

    Files and modules are looked for in ``folder``; a function gets the sizes by name, and
    ``shape``.
    """
    argument = array.argument
    if argument.fill is None:
        return poisoned(argument.element, array.shape)
    if argument.file is not None:
        file = folder / argument.file
        return _fitting(_loaded(file, argument.name), array, str(file))
    if argument.function is not None:
        values = call(argument.function, {**sizes, "shape": array.shape}, folder)
        return _fitting(values, array, argument.function)
    return _by_rule(array)


def poisoned(type_name: str, shape: tuple[int, ...]) -> Array:
    """An array in which an element that nobody writes is seen afterwards."""
    if is_floating(type_name):
        # One number, so that a large array is there once.
        return np.full(shape, encode(np.array([np.nan], np.float32), type_name)[0])
    storage = storage_type(type_name)
    raw = np.full(math.prod(shape) * storage.itemsize, POISON_BYTE, np.uint8)
    return raw.view(storage).reshape(shape)


def encode(values: Array, type_name: str) -> Array:
    """Values as the type stores them: rounded once, to the nearest, ties to even.

    What is too large for a type of 8 bits becomes its largest finite value, infinities too, and
    NaN stays: as ``__NV_SATFINITE`` has it, with which CUDA's ``__nv_fp8_e4m3(x)`` converts (CUDA
    Math API, "FP8 Conversion and Data Movement"). Wider types overflow to infinity.
    """
    if type_name == "bool":
        return np.ascontiguousarray(values.astype(np.bool_).astype(np.uint8))
    if type_name not in _SMALL:
        return np.ascontiguousarray(values.astype(storage_type(type_name)))
    small = getattr(_ml_dtypes(), _SMALL[type_name])
    numbers = _saturated(np.ascontiguousarray(_to_odd(values)), type_name)
    stored: Array = numbers.astype(small).view(storage_type(type_name))
    return stored


def _to_odd(values: Array) -> Array:
    """Values in float32 for another rounding: towards zero, and odd where that is not exact.

    ``ml_dtypes`` rounds by way of float32, where a value close to the middle between two others
    becomes that middle, which is a tie no more than the value was. An odd last bit keeps it apart:
    float32 has more than two bits beyond any of these types (Boldo and Melquiond, "Emulation of a
    FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on
    Computers 57, 2008).
    """
    if np.can_cast(values.dtype, np.float32):
        return values.astype(np.float32)
    exact = values.astype(np.float64)
    with np.errstate(over="ignore"):
        numbers = exact.astype(np.float32)
    bits = numbers.view(np.uint32)
    bits -= np.abs(numbers) > np.abs(exact)
    bits |= numbers != exact
    return numbers


def _saturated(values: Array, type_name: str) -> Array:
    """Values within the finite ones of a type of 8 bits; those of other types as they are."""
    if not type_name.startswith("float8"):
        return values
    library = _ml_dtypes()
    largest = float(library.finfo(getattr(library, _SMALL[type_name])).max)
    return np.clip(values, -largest, largest)


def decode(stored: Array, type_name: str) -> Array:
    """What is stored, as numbers to compute with: float64, or int64 and uint64 for integers."""
    if type_name in _SMALL:
        small = getattr(_ml_dtypes(), _SMALL[type_name])
        numbers: Array = stored.view(small).astype(np.float64)
        return numbers
    if is_floating(type_name):
        return stored.astype(np.float64)
    return stored.astype(np.uint64 if type_name.startswith("uint") else np.int64)


def case_of(launch: ResolvedLaunch, filled: Mapping[str, Array]) -> Case:
    """What the reference is given, from the arrays as they lie in memory before the launch.

    ``filled`` need not have those without a fill.
    """
    inputs: dict[str, Array] = {}
    outputs: dict[str, Array] = {}
    scalars: dict[str, float] = {}
    for each in launch.arguments:
        name = each.argument.name
        if isinstance(each, ResolvedScalar):
            scalars[name] = _rounded(each.argument.element, each.value)
        elif isinstance(each, ResolvedStructure):
            for piece in each.layout.pieces:
                if piece.type is not None and len(piece.numbers) == 1:
                    scalars[f"{name}_{piece.name}"] = _rounded(piece.type, piece.numbers[0])
        elif isinstance(each, ResolvedArray):
            values = outputs if each.argument.output else inputs
            values[name] = _decoded(each, filled)
    return Case(inputs, outputs, scalars, launch.sizes)


def _decoded(array: ResolvedArray, filled: Mapping[str, Array]) -> Array:
    """What an array holds; one that is poisoned holds the same everywhere, in no memory."""
    argument = array.argument
    if argument.fill is None:
        return np.broadcast_to(
            decode(poisoned(argument.element, (1,)), argument.element), array.shape
        )
    return decode(filled[argument.name], argument.element)


def _rounded(type_name: str, value: Number) -> float:
    """A scalar as the kernel gets it."""
    if not is_floating(type_name):
        return value
    return float(decode(encode(np.array([value]), type_name), type_name)[0])


def structure(found: Layout, address: Callable[[str], int]) -> bytes:
    """A structure as it lies in memory; ``address`` is where an array of that name is."""
    whole = bytearray(found.size)
    for each in found.pieces:
        if each.type is None:
            stored = address(each.of or "").to_bytes(POINTER_BYTES, "little")
        else:
            stored = encode(np.array(each.numbers), each.type).tobytes()
        whole[each.offset : each.offset + len(stored)] = stored
    return bytes(whole)


def count_poison(type_name: str, stored: Array) -> int:
    """Elements of an output that nobody wrote, as far as that can be told.

    A number of two bytes and less may have the poison's bits by right; a wider one hardly.
    """
    if is_floating(type_name):
        return int(np.isnan(decode(stored, type_name)).sum())
    if stored.dtype.itemsize < _TELLING_BYTES and type_name != "bool":
        return 0
    return int((stored == poisoned(type_name, stored.shape)).sum())


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far an output is off its reference."""

    name: str
    error: float
    """Relative Frobenius error; NaN where the result has a NaN that the reference has not."""
    tolerance: float
    unwritten: int
    """Elements that still hold the poison."""
    worst: tuple[int, ...] | None
    """Index of the element that is furthest off; of the first NaN, if there is one."""
    worst_value: float | None
    worst_expected: float | None
    exact: bool = False
    """Whether every element has to be equal: whole numbers, unless a tolerance allows more."""

    @property
    def passed(self) -> bool:
        """Whether the output is right, within the tolerance if it has one."""
        return self.worst is None if self.exact else self.error <= self.tolerance


def compare(
    name: str, type_name: str, stored: Array, expected: Array, tolerance: float
) -> Comparison:
    """Compare an output as it lies in memory with what it has to be.

    Whole numbers have to be equal, unless the tolerance is larger than the default: a relative
    error of 1e-5 over a million of them would forgive one that is wrong. What is too large for a
    type of 8 bits has to be its largest value, as :func:`encode` has it.
    """
    integers = not is_floating(type_name)
    exact = integers and tolerance <= TOLERANCE
    if exact and np.array_equal(stored, expected):
        return Comparison(name, 0.0, tolerance, 0, None, None, None, exact)
    result = decode(stored, type_name).astype(np.float64)
    wanted = _saturated(np.asarray(expected, np.float64).reshape(result.shape), type_name)
    missing = np.isnan(wanted)
    # A NaN beside a NaN is right, and so is an infinity beside the same one.
    alike = (missing & np.isnan(result)) | (np.isinf(wanted) & (result == wanted))
    result_known = np.where(alike, 0.0, result)
    wanted_known = np.where(alike, 0.0, wanted)
    with np.errstate(invalid="ignore"):
        off = np.abs(result_known - wanted_known)
    if integers and np.asarray(expected).dtype.kind in "iub":
        # float64 cannot tell neighbours beyond 2**53 apart.
        whole = np.asarray(expected).astype(stored.dtype).reshape(stored.shape)
        off = np.where(stored == whole, 0.0, np.maximum(off, 1.0))
    ranked = np.where(np.isnan(off), np.inf, off)
    worst = (
        tuple(int(i) for i in np.unravel_index(int(ranked.argmax()), ranked.shape))
        if ranked.size and ranked.max() > 0
        else None
    )
    if integers:
        unwritten = int((stored == poisoned(type_name, stored.shape)).sum()) if worst else 0
    else:
        unwritten = int((np.isnan(result) & ~missing).sum())
    with np.errstate(invalid="ignore"):
        error = relative_error(result_known, wanted_known)
    return Comparison(
        name=name,
        error=error,
        tolerance=tolerance,
        unwritten=unwritten,
        worst=worst,
        worst_value=None if worst is None else float(result[worst]),
        worst_expected=None if worst is None else float(wanted[worst]),
        exact=exact,
    )


def _by_rule(array: ResolvedArray) -> Array:
    """The values of a fill that has a name."""
    argument, shape, type_name = array.argument, array.shape, array.argument.element
    if argument.fill == "zeros":
        return np.zeros(shape, storage_type(type_name))
    if argument.fill == "arange":
        return encode(np.arange(math.prod(shape)).reshape(shape), type_name)
    generator = np.random.default_rng(array.index if argument.seed is None else argument.seed)
    if argument.fill == "permutation":
        return encode(generator.permutation(math.prod(shape)).reshape(shape), type_name)
    if argument.fill == "offsets":
        return encode(_offsets(generator, math.prod(shape), array.limit or 0), type_name)
    values = np.empty(math.prod(shape), storage_type(type_name))
    # Numbers that are drawn part by part are those that are drawn at once, in less memory.
    for start in range(0, values.size, _DRAWN_AT_ONCE):
        part = values[start : start + _DRAWN_AT_ONCE]
        drawn = _drawn(generator, argument.fill, type_name, part.size, array.limit)
        part[:] = encode(drawn, type_name)
    return values.reshape(shape)


def _offsets(generator: np.random.Generator, count: int, last: int) -> Array:
    """So many numbers from 0 to the last, none smaller than the one before.

    Those between are random, and so differ how far neighbours are apart, as rows of a sparse matrix
    do.
    """
    values = np.sort(generator.integers(0, last + 1, count))
    values[0], values[-1] = 0, last
    return values


def _drawn(
    generator: np.random.Generator,
    fill: str | None,
    type_name: str,
    count: int,
    limit: int | None,
) -> Array:
    """So many random numbers, as a fill has them; whole ones below the limit."""
    if is_floating(type_name):
        kind: Any = np.float64 if type_name == "float64" else np.float32
        if fill == "normal":
            return generator.standard_normal(count, dtype=kind)
        return 2 * generator.random(count, dtype=kind) - 1
    most = 2 if type_name == "bool" else limit or _RANDOM_INTEGERS
    return generator.integers(0, most, count)


def _loaded(file: Path, name: str) -> Array:
    try:
        refuse_special(file)
        # Mapped, an array that says it is larger than its file takes no memory.
        values: Array = np.load(file, allow_pickle=False, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise SpecError(
            f"the values of {name} cannot be read: {error}",
            where=str(file),
            hint="numpy.save(file, array) writes such a file, without Python objects in it",
        ) from error
    return values


def _fitting(values: object, array: ResolvedArray, where: str) -> Array:
    """Somebody's values as the argument stores them, if they are of its shape and kind."""
    argument = array.argument
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
        raise SpecError(f"the values of {argument.name} are not real numbers", where=where)
    if values.shape != array.shape:
        raise SpecError(
            f"{argument.name} has shape {array.shape}, and its values {values.shape}",
            where=where,
            hint="they have to fit the sizes that the kernel is launched with; "
            "[check] sizes change them for the comparison",
        )
    if not is_floating(argument.element) and values.dtype.kind == "f":
        raise SpecError(
            f"{argument.name} is {argument.element}, and its values are {values.dtype}", where=where
        )
    return encode(values, argument.element)
