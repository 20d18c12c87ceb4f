"""Array values: seeded fills, outputs poisoned with NaN, encoding, and comparison of results."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.errors import MissingToolError
from kernelprof.files import refuse_special
from kernelprof.installation import install_command
from kernelprof.launch.check.references import Case, call_function, relative_error
from kernelprof.launch.specification.elements import element_bytes, is_floating
from kernelprof.launch.specification.expressions import SpecError
from kernelprof.launch.specification.spec import (
    POINTER_BYTES,
    ResolvedArray,
    ResolvedScalar,
    ResolvedStructure,
)
from kernelprof.model.specification import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from kernelprof.launch.specification.expressions import Number
    from kernelprof.launch.specification.spec import ResolvedLaunch, StructLayout

    Array = npt.NDArray[Any]


def import_library(module: str, who: str) -> Any:
    """Import a module of the extra ``gpu``; :class:`MissingToolError` names ``who`` is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingToolError(
            f"{who} cannot be imported: {error}",
            hint=f"on a machine with a GPU, run: {install_command('gpu')}",
        ) from error


POISON_BYTE = 0xCD
"""Fills outputs of integers, which have no NaN: a value that a kernel hardly writes by chance."""
_TELLING_BYTES = 4
RANDOM_INTEGERS = 16
"""What random integers stay below where a specification has no limit."""
_DRAWN_AT_ONCE = 1 << 20
_SMALL: Final = {
    "bfloat16": "bfloat16",
    "float8_e4m3": "float8_e4m3fn",  # finite: one NaN, no infinity, as CUDA's
    "float8_e5m2": "float8_e5m2",
}
"""Types that NumPy does not have, as ``ml_dtypes`` calls them."""
_LARGEST: Final = {"float8_e4m3": 0x7E, "float8_e5m2": 0x7B}
"""Codes of the largest numbers of 8-bit types: 448 and 57,344."""


def storage_type(type_name: str) -> np.dtype[Any]:
    """Return the dtype in memory: unsigned integers for types that NumPy lacks, a byte for bool."""
    if type_name in _SMALL or type_name == "bool":
        return np.dtype(f"uint{8 * element_bytes(type_name)}")
    return np.dtype(type_name)


def _small_type(type_name: str) -> Any:
    types = import_library("ml_dtypes", "ml-dtypes, which provides types that NumPy lacks,")
    return np.dtype(getattr(types, _SMALL[type_name]))


def fill(array: ResolvedArray, folder: Path, sizes: Mapping[str, int]) -> Array:
    """Return the stored values of an array before the launch.

    ``folder`` has its files and modules; a function gets the sizes by name, and ``shape``.
    """
    argument = array.argument
    if argument.fill is None:
        return poison_array(argument.element, array.shape)
    if argument.file is not None:
        file = folder / argument.file
        return _fitting(_loaded(file, argument.name), array, str(file))
    if argument.function is not None:
        values = call_function(argument.function, {**sizes, "shape": array.shape}, folder)
        return _fitting(values, array, argument.function)
    return _by_rule(array)


def part_filler(array: ResolvedArray) -> Callable[[int, int], Array] | None:
    """What gives the elements of :func:`fill` from one even place up to another alone.

    ``None`` where they follow only from those before them.
    """
    argument, type_name = array.argument, array.argument.element
    if argument.fill is None:
        return lambda start, stop: poison_array(type_name, (stop - start,))
    most = _most(type_name, array.limit)
    is_redrawn = not is_floating(type_name) and most & (most - 1) != 0
    if argument.fill != "random" or is_redrawn:
        return None
    # One draw of 64 bits is one number, or two of at most 32 bits, and none is drawn again.
    numbers_a_draw = 1 if type_name == "float64" else 2

    def draw(start: int, stop: int) -> Array:
        generator = np.random.PCG64(_seed(array)).advance(start // numbers_a_draw)
        drawn = np.random.Generator(generator)
        return encode(_drawn(drawn, argument.fill, type_name, stop - start, array.limit), type_name)

    return draw


def poison_array(type_name: str, shape: tuple[int, ...]) -> Array:
    """Return an array whose elements show afterwards whether they were written."""
    if is_floating(type_name):
        # One number, so that a large array is there once.
        return np.full(shape, encode(np.array([np.nan], np.float32), type_name)[0])
    storage = storage_type(type_name)
    raw = np.full(math.prod(shape) * storage.itemsize, POISON_BYTE, np.uint8)
    return raw.view(storage).reshape(shape)


def encode(values: Array, type_name: str) -> Array:
    """Round values once to a type, to nearest even.

    Values beyond the range of an 8-bit type become its largest, as with ``__NV_SATFINITE``
    (CUDA Math API, "FP8 Conversion and Data Movement"); wider types overflow to infinity.
    """
    if type_name == "bool":
        return np.ascontiguousarray(values.astype(np.bool_).astype(np.uint8))
    if type_name not in _SMALL:
        return np.ascontiguousarray(values.astype(storage_type(type_name)))
    numbers = _saturated(np.ascontiguousarray(_to_odd(values)), type_name)
    stored: Array = numbers.astype(_small_type(type_name)).view(storage_type(type_name))
    return stored


def _to_odd(values: Array) -> Array:
    """Round to float32 towards zero, to odd where inexact.

    ``ml_dtypes`` rounds by way of float32, where a value near a tie would become one; an odd
    last bit prevents that (Boldo and Melquiond, IEEE Transactions on Computers 57, 2008).
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
    if not type_name.startswith("float8"):
        return values
    largest = float(decode(np.array([_LARGEST[type_name]], np.uint8), type_name)[0])
    return np.clip(values, -largest, largest)


def decode(stored: Array, type_name: str) -> Array:
    """Convert stored elements to float64, or to int64 or uint64 for integers."""
    if type_name in _SMALL:
        return np.asarray(stored.view(_small_type(type_name)), np.float64)
    if is_floating(type_name):
        return stored.astype(np.float64)
    return stored.astype(np.uint64 if type_name.startswith("uint") else np.int64)


def reference_case(launch: ResolvedLaunch, stored: Mapping[str, Array]) -> Case:
    """Return the reference's inputs, from the stored arrays before the launch."""
    inputs: dict[str, Array] = {}
    outputs: dict[str, Array] = {}
    scalars: dict[str, float] = {}
    for each in launch.arguments:
        name = each.argument.name
        if isinstance(each, ResolvedScalar):
            scalars[name] = _rounded(each.argument.element, each.value)
        elif isinstance(each, ResolvedStructure):
            for placed in each.layout.members:
                member, numbers = placed.member, placed.numbers
                if member.type is not None and len(numbers) == 1:
                    scalars[f"{name}_{member.name}"] = _rounded(member.type, numbers[0])
        elif isinstance(each, ResolvedArray):
            values = outputs if each.argument.output else inputs
            if each.argument.fill is None:  # the same everywhere, and perhaps not stored
                poison = poison_array(each.argument.element, (1,))
                values[name] = np.broadcast_to(decode(poison, each.argument.element), each.shape)
            else:
                values[name] = decode(stored[name], each.argument.element)
    return Case(inputs, outputs, scalars, launch.sizes)


def _rounded(type_name: str, value: Number) -> float:
    if not is_floating(type_name):
        return value
    return float(decode(encode(np.array([value]), type_name), type_name)[0])


def encode_structure(layout: StructLayout, address: Callable[[str], int]) -> bytes:
    """Return a structure's bytes; ``address`` gives the address of an array by name."""
    whole = bytearray(layout.size)
    for each in layout.members:
        if each.member.type is None:
            stored = address(each.member.of or "").to_bytes(POINTER_BYTES, "little")
        else:
            stored = encode(np.array(each.numbers), each.member.type).tobytes()
        whole[each.offset : each.offset + len(stored)] = stored
    return bytes(whole)


def count_poison(type_name: str, stored: Array) -> int:
    """Count the elements of an output that were never written.

    Integers of one or two bytes may hold the poison by chance, and are not counted.
    """
    if is_floating(type_name):
        return int(np.isnan(decode(stored, type_name)).sum())
    if stored.dtype.itemsize < _TELLING_BYTES and type_name != "bool":
        return 0
    return int((stored == poison_array(type_name, stored.shape)).sum())


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """The difference of an output from its reference."""

    name: str
    error: float
    """Relative Frobenius error; NaN where the result has a NaN that the reference has not."""
    tolerance: float
    poisoned: int
    """Elements that still hold the poison."""
    worst: tuple[int, ...] | None
    """Index of the element that is furthest off; of the first NaN, if there is one."""
    worst_value: float | None
    worst_expected: float | None
    exact: bool = False
    """Whether every element has to be equal: whole numbers, unless a tolerance allows more."""

    @property
    def passed(self) -> bool:
        """Whether the output is right, within its tolerance."""
        return self.worst is None if self.exact else self.error <= self.tolerance


def compare(
    name: str, type_name: str, stored: Array, expected: Array, tolerance: float
) -> OutputComparison:
    """Compare a stored output with its expected values.

    Integers have to be equal, unless the tolerance is above the default: a relative error of
    1e-5 over a million would hide one wrong value.
    """
    integers = not is_floating(type_name)
    exact = integers and tolerance <= TOLERANCE
    if exact and np.array_equal(stored, expected):
        return OutputComparison(name, 0.0, tolerance, 0, None, None, None, exact)
    result = decode(stored, type_name).astype(np.float64)
    wanted = _saturated(np.asarray(expected, np.float64).reshape(result.shape), type_name)
    missing = np.isnan(wanted)
    # A NaN beside a NaN is right, and so is an infinity beside the same one.
    alike = (missing & np.isnan(result)) | (np.isinf(wanted) & (result == wanted))
    known_result = np.where(alike, 0.0, result)
    known_wanted = np.where(alike, 0.0, wanted)
    with np.errstate(invalid="ignore"):
        off = np.abs(known_result - known_wanted)
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
        poisoned_count = (
            int((stored == poison_array(type_name, stored.shape)).sum()) if worst else 0
        )
    else:
        poisoned_count = int((np.isnan(result) & ~missing).sum())
    with np.errstate(invalid="ignore"):
        error = relative_error(known_result, known_wanted)
    return OutputComparison(
        name=name,
        error=error,
        tolerance=tolerance,
        poisoned=poisoned_count,
        worst=worst,
        worst_value=None if worst is None else float(result[worst]),
        worst_expected=None if worst is None else float(wanted[worst]),
        exact=exact,
    )


def _by_rule(array: ResolvedArray) -> Array:
    argument, shape, type_name = array.argument, array.shape, array.argument.element
    if argument.fill == "zeros":
        return np.zeros(shape, storage_type(type_name))
    if argument.fill == "arange":
        return encode(np.arange(math.prod(shape)).reshape(shape), type_name)
    generator = np.random.default_rng(_seed(array))
    if argument.fill == "permutation":
        return encode(generator.permutation(math.prod(shape)).reshape(shape), type_name)
    if argument.fill == "offsets":
        return encode(_offsets(generator, math.prod(shape), array.limit or 0), type_name)
    values = np.empty(math.prod(shape), storage_type(type_name))
    # Numbers that are drawn part by part are those that are drawn at once, in less memory.
    for start in range(0, values.size, _DRAWN_AT_ONCE):
        chunk = values[start : start + _DRAWN_AT_ONCE]
        drawn = _drawn(generator, argument.fill, type_name, chunk.size, array.limit)
        chunk[:] = encode(drawn, type_name)
    return values.reshape(shape)


def _offsets(generator: np.random.Generator, count: int, last: int) -> Array:
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
    if is_floating(type_name):
        kind: Any = np.float64 if type_name == "float64" else np.float32
        if fill == "normal":
            return generator.standard_normal(count, dtype=kind)
        return 2 * generator.random(count, dtype=kind) - 1
    return generator.integers(0, _most(type_name, limit), count)


def _most(type_name: str, limit: int | None) -> int:
    return 2 if type_name == "bool" else limit or RANDOM_INTEGERS


def _seed(array: ResolvedArray) -> int:
    return array.index if array.argument.seed is None else array.argument.seed


def _loaded(file: Path, name: str) -> Array:
    try:
        refuse_special(file)
        # Mapped, an array that says it is larger than its file takes no memory.
        values: Array = np.load(file, allow_pickle=False, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise SpecError(
            f"the values of {name} cannot be read: {error}",
            where=str(file),
            hint="write the file with numpy.save(file, array), without Python objects",
        ) from error
    return values


def _fitting(values: object, array: ResolvedArray, where: str) -> Array:
    argument = array.argument
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biuf":
        raise SpecError(
            f"the values of {argument.name} are not real numbers in a NumPy array", where=where
        )
    if values.shape != array.shape:
        raise SpecError(
            f"{argument.name} has shape {array.shape}, but its values have shape {values.shape}",
            where=where,
            hint="the shapes must match at the [check] sizes (for the check) and at [sizes] (for "
            "the measurement)",
        )
    if not is_floating(argument.element) and values.dtype.kind == "f":
        raise SpecError(
            f"{argument.name} is {argument.element}, but its values are {values.dtype}", where=where
        )
    return encode(values, argument.element)
