"""Values before the launch, and the comparison after it."""

from __future__ import annotations

import bisect
import math
import os
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelprof.errors import InputError
from kernelprof.launch.check import arrays
from kernelprof.launch.check.arrays import (
    _loaded,
    compare,
    count_poison,
    decode,
    encode,
    fill,
    poison_array,
    reference_case,
    storage_type,
)
from kernelprof.launch.check.references import BadFunctionError
from kernelprof.launch.specification.elements import TYPES
from kernelprof.launch.specification.expressions import SpecError
from kernelprof.launch.specification.spec import ResolvedArray
from kernelprof.launch.specification.tables import Argument

_STORED = {"bfloat16": "uint16", "bool": "uint8", "float8_e4m3": "uint8", "float8_e5m2": "uint8"}


def _array(type_name="float32", shape=(3, 4), index=0, **options):
    argument = Argument(name="A", type=type_name, shape=(), **{"fill": "random", **options})
    return ResolvedArray(argument, index, shape)


@given(st.integers(1, 300), st.integers(1, 200))
def test_whole_numbers_below_a_limit_and_offsets_up_to_it(tmp_path_factory, count, limit) -> None:
    folder = tmp_path_factory.getbasetemp()
    drawn = ResolvedArray(_array("int32", shape=(count,)).argument, 3, (count,), limit)
    values = fill(drawn, folder, {})
    assert values.min() >= 0
    assert values.max() < limit
    argument = _array("uint32", fill="offsets").argument
    offsets = fill(ResolvedArray(argument, 3, (count + 1,), limit), folder, {}).astype(int)
    assert (offsets[0], offsets[-1]) == (0, limit)
    assert (np.diff(offsets) >= 0).all()


def test_a_permutation_has_each_number_once(tmp_path) -> None:
    values = fill(_array("int64", shape=(50, 4), fill="permutation"), tmp_path, {})
    assert np.array_equal(np.sort(values.ravel()), np.arange(200))
    assert not np.array_equal(values.ravel(), np.arange(200))


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("how", ["random", "zeros", "arange", None])
def test_every_type_can_be_filled(tmp_path, type_name, how) -> None:
    values = fill(_array(type_name, fill=how), tmp_path, {})
    assert values.shape == (3, 4)
    assert values.dtype == _STORED.get(type_name, type_name)
    assert values.flags.c_contiguous
    numbers = decode(values, type_name)
    if how == "arange" and type_name not in {"bool", "float8_e5m2"}:
        assert numbers.ravel().tolist() == list(range(12))
    if how == "zeros":
        assert not numbers.any()
    if how == "random":
        assert len(np.unique(numbers)) > 1
    if how is None and "float" in type_name:
        assert np.isnan(numbers).all()


@pytest.mark.parametrize("type_name", TYPES)
@pytest.mark.parametrize("how", ["random", "normal"])
@pytest.mark.parametrize("part", [7, 64])
def test_values_that_are_drawn_in_parts_are_those_that_are_drawn_at_once(
    tmp_path, monkeypatch, type_name, how, part
) -> None:
    array = _array(type_name, shape=(9, 61), fill=how)
    whole = fill(array, tmp_path, {})
    monkeypatch.setattr(arrays, "_DRAWN_AT_ONCE", part)
    assert np.array_equal(fill(array, tmp_path, {}), whole)


def test_random_values_depend_on_seed_and_place_only(tmp_path) -> None:
    first = fill(_array(), tmp_path, {})
    assert np.array_equal(first, fill(_array(), tmp_path, {}))
    assert not np.array_equal(first, fill(_array(index=1), tmp_path, {}))
    assert np.array_equal(first, fill(_array(index=1, seed=0), tmp_path, {}))
    assert first.min() < 0 < first.max()
    assert np.abs(first).max() <= 1


def test_values_from_a_file(tmp_path) -> None:
    values = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "a.npy", values)
    loaded = fill(_array("float16", fill="a.npy"), tmp_path, {})
    assert loaded.dtype == np.float16
    assert np.array_equal(loaded, values)
    with pytest.raises(InputError, match=r"has shape \(2, 4\)"):
        fill(_array(shape=(2, 4), fill="a.npy"), tmp_path, {})
    with pytest.raises(InputError, match="int32, but its values are float64"):
        fill(_array("int32", fill="a.npy"), tmp_path, {})
    with pytest.raises(InputError, match="cannot be read"):
        fill(_array(fill="b.npy"), tmp_path, {})
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="cannot be read"):
        fill(_array(fill="o.npy"), tmp_path, {})


def test_values_from_a_function(tmp_path) -> None:
    (tmp_path / "made.py").write_text(
        "import numpy as np\n"
        "def rows(shape, M):\n    return np.arange(shape[0]) * M\n"
        "def few(shape):\n    return np.zeros(3)\n"
        "def names(shape):\n    return np.array(['a'])\n"
        "def asks(shape, K):\n    return None\n"
        "def fails(shape):\n    return 1 // 0\n"
    )

    def filled(function, type_name="int32"):
        return fill(_array(type_name, shape=(4,), fill=f"made:{function}"), tmp_path, {"M": 5})

    assert filled("rows").tolist() == [0, 5, 10, 15]
    assert filled("rows", "float16").dtype == np.float16
    with pytest.raises(InputError, match=r"has shape \(4,\), but its values have shape \(3,\)"):
        filled("few")
    with pytest.raises(InputError, match="not real numbers"):
        filled("names")
    with pytest.raises(BadFunctionError, match="parameter 'K', but no argument or size"):
        filled("asks")
    with pytest.raises(BadFunctionError, match="ZeroDivisionError"):
        filled("fails")
    with pytest.raises(BadFunctionError, match="no function 'columns'"):
        filled("columns")


def test_bfloat16_is_rounded_to_nearest_even() -> None:
    values = np.array([1.0, -2.5, 1.00390625, 1.01171875, np.inf, 3e38, 0.0], np.float32)
    stored = encode(values, "bfloat16")
    assert stored.tolist() == [0x3F80, 0xC020, 0x3F80, 0x3F82, 0x7F80, 0x7F62, 0]
    assert decode(stored, "bfloat16").tolist()[:4] == [1.0, -2.5, 1.0, 1.015625]
    assert np.isnan(decode(encode(np.array([np.nan]), "bfloat16"), "bfloat16")).all()


@pytest.mark.parametrize(
    ("type_name", "digits", "largest", "least"),
    [("float8_e4m3", 3, 448.0, 2.0**-9), ("float8_e5m2", 2, 57344.0, 2.0**-16)],
)
def test_float8_is_rounded_to_nearest_even_within_its_range(
    type_name, digits, largest, least
) -> None:
    """By the formats of OCP's "8-bit Floating Point Specification", revision 1.0."""
    codes = np.arange(256, dtype=np.uint8)
    numbers = decode(codes, type_name)
    finite = np.isfinite(numbers)
    assert np.array_equal(encode(numbers[finite], type_name), codes[finite])
    assert numbers[finite].max() == largest
    assert numbers[numbers > 0].min() == least
    step = 2.0**-digits
    halves = 1 + step * np.array([0.5, 1.5, 0.49, 0.51])
    assert decode(encode(halves, type_name), type_name).tolist() == [
        *(1, 1 + 2 * step),
        *(1, 1 + step),
    ]
    large = np.array([2 * largest, -2 * largest, np.inf, -np.inf, 1e30])
    assert decode(encode(large, type_name), type_name).tolist() == [
        *(largest, -largest, largest, -largest, largest)
    ]
    assert np.isnan(decode(encode(np.array([np.nan]), type_name), type_name)).all()


SMALL = ("bfloat16", "float8_e4m3", "float8_e5m2")


@cache
def _finite(type_name: str) -> np.ndarray:
    """Every finite number of a type, in order."""
    codes = np.arange(1 << (16 if type_name == "bfloat16" else 8))
    with np.errstate(invalid="ignore"):
        numbers = decode(codes.astype(storage_type(type_name)), type_name)
    return np.unique(numbers[np.isfinite(numbers)])


@pytest.mark.parametrize("type_name", SMALL)
def test_what_is_next_to_a_tie_is_rounded_once(type_name) -> None:
    """By way of float32 it would be a tie, and half of them go the wrong way."""
    numbers = _finite(type_name)
    below, above = numbers[:-1], numbers[1:]
    ties = (below + above) / 2
    for values, wanted in (
        (np.nextafter(ties, np.inf), above),
        (np.nextafter(ties, -np.inf), below),
        (np.nextafter(numbers, np.inf), numbers),
        (np.nextafter(numbers, -np.inf), numbers),
    ):
        assert np.array_equal(decode(encode(values, type_name), type_name), wanted)
    assert not np.any(encode(ties, type_name) & 1)
    assert np.array_equal(decode(encode(numbers, type_name), type_name), numbers)


@pytest.mark.parametrize("type_name", SMALL)
@settings(deadline=None)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_any_double_becomes_the_nearest(type_name, values: list[float]) -> None:
    finite = _finite(type_name).tolist()
    # What overflows is rounded as if the numbers went on by the same step.
    overflow = Fraction(finite[-1]) + (Fraction(finite[-1]) - Fraction(finite[-2])) / 2
    for value, found in zip(
        values, decode(encode(np.array(values), type_name), type_name).tolist(), strict=True
    ):
        at = bisect.bisect_left(finite, value)
        near = finite[max(at - 1, 0) : at + 1]
        if math.isinf(found):
            assert type_name == "bfloat16"
            assert abs(Fraction(value)) >= overflow
            assert math.copysign(1.0, found) == math.copysign(1.0, value)
            continue
        least = min(abs(Fraction(each) - Fraction(value)) for each in near)
        assert abs(Fraction(found) - Fraction(value)) == least
        assert math.copysign(1.0, found) == math.copysign(1.0, value)


def test_whole_numbers_are_rounded_once() -> None:
    values = np.array([2**32 + 2**24 + 1, 2**32 + 2**24 - 1, 2**32 + 2**24, 257, -257])
    assert decode(encode(values, "bfloat16"), "bfloat16").tolist() == [
        *(2**32 + 2**25, 2**32, 2**32),
        *(256, -256),
    ]


@pytest.mark.parametrize("type_name", ["float64", "float32", "bfloat16", "float8_e4m3"])
def test_normal_values_are_standard_normal(tmp_path, type_name) -> None:
    stored = fill(_array(type_name, shape=(200, 500), fill="normal"), tmp_path, {})
    values = decode(stored, type_name)
    # 100,000 values: the mean is off by 0.003 as a rule, the deviation by 0.002.
    assert abs(values.mean()) < 0.02
    assert values.std() == pytest.approx(1, abs=0.02)
    # float8_e4m3 has 1.125 after 1.
    assert 0.27 < (np.abs(values) > 1.0625).mean() < 0.31
    again = fill(_array(type_name, shape=(200, 500), fill="normal", seed=0), tmp_path, {})
    assert np.array_equal(stored, again)


def test_a_case_has_inputs_outputs_and_scalars_apart(read, sgemm, tmp_path) -> None:
    launch = read(sgemm).changed(sizes={"M": 2, "N": 3, "K": 4}).resolve()
    arrays = [a for a in launch.arguments if isinstance(a, ResolvedArray)]
    filled = {a.argument.name: fill(a, tmp_path, {}) for a in arrays}
    case = reference_case(launch, filled)
    assert list(case.inputs) == ["A", "B"]
    assert list(case.outputs) == ["C"]
    assert case.inputs["A"].dtype == np.float64
    assert case.scalars == {"M": 2}
    assert case.sizes == {"M": 2, "N": 3, "K": 4}
    # What has no fill is the same everywhere: it need not be there.
    del filled["C"]
    again = reference_case(launch, filled)
    assert again.outputs["C"].shape == (2, 3)
    assert np.isnan(again.outputs["C"]).all()
    assert again.outputs["C"].dtype == case.outputs["C"].dtype


@pytest.mark.parametrize(
    ("type_name", "kept"),
    [("float8_e4m3", 0.1015625), ("bfloat16", 0.10009765625), ("float64", 0.1)],
)
def test_a_reference_gets_a_scalar_as_the_kernel_does(read, sgemm, type_name, kept) -> None:
    scalar = f'[[arguments]]\nname = "alpha"\ntype = "{type_name}"\nvalue = 0.1\n'
    launch = read(f"{sgemm}\n{scalar}").resolve({"M": 2, "N": 3, "K": 4})
    arrays = {name: np.zeros(each.shape, np.float32) for name, each in launch.arrays.items()}
    assert reference_case(launch, arrays).scalars == {"M": 2, "alpha": kept}


def test_a_right_result_passes() -> None:
    wanted = np.array([[1.0, 2.0], [3.0, 4.0]])
    result = compare("C", "float32", (wanted * (1 + 1e-7)).astype(np.float32), wanted, 1e-5)
    assert result.passed
    assert result.poisoned == 0


@pytest.mark.parametrize("type_name", ["float8_e4m3", "float8_e5m2"])
def test_what_is_too_large_for_float8_is_right_as_its_largest_value(type_name) -> None:
    wanted = np.array([1e6, -1e6, 2.0, np.nan])
    stored = encode(wanted, type_name)
    assert compare("C", type_name, stored, wanted, 1e-5).passed
    stored[0] = stored[2]
    assert compare("C", type_name, stored, wanted, 1e-5).worst == (0,)


def test_a_wrong_result_names_the_worst_element() -> None:
    wanted = np.array([[1.0, 2.0], [3.0, 4.0]])
    stored = wanted.astype(np.float32)
    stored[1, 0] = 3.5
    result = compare("C", "float32", stored, wanted, 1e-5)
    assert not result.passed
    assert result.worst == (1, 0)
    assert (result.worst_value, result.worst_expected) == (3.5, 3.0)
    assert result.error == pytest.approx(0.5 / math.sqrt(30))


@pytest.mark.parametrize("type_name", ["float32", "float16", "bfloat16", "int32", "uint8"])
def test_elements_that_nobody_wrote_are_seen(type_name) -> None:
    stored = poison_array(type_name, (4, 4))
    stored[:3] = encode(np.ones((3, 4)), type_name)
    result = compare("C", type_name, stored, np.ones((4, 4)), 1e-5)
    assert not result.passed
    assert result.poisoned == 4
    assert result.worst == (3, 0)


def test_a_nan_that_is_wanted_is_right() -> None:
    wanted = np.array([1.0, np.nan])
    assert compare("y", "float32", wanted.astype(np.float32), wanted, 1e-5).passed
    assert not compare("y", "float32", np.array([1.0, 2.0], np.float32), wanted, 1e-5).passed


def test_a_zero_reference_is_compared_absolutely() -> None:
    zeros = np.zeros(4)
    assert compare("y", "float32", np.zeros(4, np.float32), zeros, 1e-5).passed
    assert not compare("y", "float32", np.full(4, 1e-3, np.float32), zeros, 1e-5).passed


@pytest.mark.parametrize("type_name", ["int32", "uint8", "int64", "bool"])
def test_whole_numbers_have_to_be_equal(type_name) -> None:
    wanted = np.arange(1 << 20) % 2
    stored = encode(wanted, type_name)
    assert compare("y", type_name, stored, wanted, 1e-5).passed
    stored[777] ^= 1
    found = compare("y", type_name, stored, wanted, 1e-5)
    assert not found.passed
    assert found.worst == (777,)
    assert compare("y", type_name, stored, wanted, 0.01).passed


def test_large_whole_numbers_are_not_compared_as_fractions() -> None:
    wanted = np.array([2**60, 2**60 + 1])
    assert compare("y", "int64", wanted.copy(), wanted, 1e-5).passed
    assert not compare("y", "int64", wanted + 1, wanted, 1e-5).passed


def test_an_infinity_is_right_beside_the_same_one_only() -> None:
    wanted = np.array([np.inf, -np.inf, 1.0])
    assert compare("y", "float32", encode(wanted, "float32"), wanted, 1e-5).passed
    assert not compare("y", "float32", encode(-wanted, "float32"), wanted, 1e-5).passed
    assert not compare("y", "float32", encode(np.ones(3), "float32"), wanted, 1e-5).passed


@pytest.mark.parametrize(
    ("type_name", "left"), [("float32", 2), ("int32", 2), ("bool", 2), ("uint8", 0), ("int16", 0)]
)
def test_poison_that_is_left_is_counted_where_it_can_be_told(type_name, left) -> None:
    stored = poison_array(type_name, (4,))
    stored[1:3] = 0
    assert count_poison(type_name, stored) == left


def test_an_array_that_says_it_is_larger_than_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(4, dtype=np.float32))
    assert _loaded(path, "a").tolist() == [0, 0, 0, 0]
    data = path.read_bytes()
    shape = b"(4,), }"
    assert shape in data
    huge = b"(4444444444444,), }"
    path.write_bytes(data.replace(shape + b" " * (len(huge) - len(shape)), huge))
    with pytest.raises(SpecError, match="cannot be read"):
        _loaded(path, "a")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(SpecError, match="a pipe or a device"):
            _loaded(place, "a")
