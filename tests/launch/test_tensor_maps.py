"""Tensor maps: what they are in numbers, and that each limit of the driver is told by itself."""

from __future__ import annotations

import pytest

from kernelprof.launch.specification.expressions import SpecError
from kernelprof.launch.specification.spec import ResolvedTensorMap
from kernelprof.launch.specification.tensor_maps import MapLayout

TOML = """\
kernel = "k"
block = [128]
grid = [1]
reference = "none"
sizes = { M = 4096, K = 1024 }
compile = { defines = { BM = 128 } }

[[arguments]]
name = "map_a"
tensor_map = { of = "A", box = [64, "BM"], swizzle = "128B" }

[[arguments]]
name = "A"
type = "bfloat16"
shape = ["M", "K"]
passed = false
"""


def _maps(spec):
    return [each for each in spec.resolve().arguments if isinstance(each, ResolvedTensorMap)]


def test_a_map_sees_its_array_with_the_fastest_dimension_first(read) -> None:
    spec = read(TOML)
    (found,) = _maps(spec)
    assert found.array == "A"
    assert found.layout == MapLayout(
        type="bfloat16",
        dims=(1024, 4096),
        strides_bytes=(2048,),
        box=(64, 128),
        swizzle="128B",
    )
    assert spec.resolve().parameters == (found,)
    assert list(spec.resolve().arrays) == ["A"]


def test_another_view_of_the_same_memory(read) -> None:
    """A tile of 128 rows and 128 elements, as two swizzled halves beside each other."""
    view = 'dims = [64, "M", "K // 64"], strides = ["K", 64], box = [64, 128, 2]'
    (found,) = _maps(read(TOML.replace('box = [64, "BM"]', view)))
    assert found.layout.dims == (64, 4096, 16)
    assert found.layout.strides_bytes == (2048, 128)
    assert found.layout.box == (64, 128, 2)


def test_dimensions_without_strides_are_packed(read) -> None:
    view = 'dims = [64, "K", "M // 64"], box = [64, 8, 1]'
    (found,) = _maps(read(TOML.replace('box = [64, "BM"]', view)))
    assert found.layout.strides_bytes == (128, 128 * 1024)


def test_a_flat_array_has_one_dimension(read) -> None:
    toml = TOML.replace('shape = ["M", "K"]', 'shape = ["M * K"]')
    (found,) = _maps(read(toml.replace('box = [64, "BM"]', "box = [64]")))
    assert (found.layout.dims, found.layout.strides_bytes) == ((4096 * 1024,), ())


def test_the_other_choices_are_kept(read) -> None:
    choices = 'l2_promotion = "256B", interleave = "none", fill = "nan"'
    (found,) = _maps(read(TOML.replace('swizzle = "128B"', choices)))
    layout = found.layout
    assert (layout.swizzle, layout.l2_promotion, layout.fill) == ("none", "256B", "nan")


OLD = 'box = [64, "BM"], swizzle = "128B"'
LIMITS = [
    ("box = [64]", "the box has 1 dimension, but the tensor map has 2: [1024, 4096]"),
    ("box = [0, 1]", "'0' gives 0 elements of the box; allowed: 1 to 256"),
    ('box = [64, "2 * BM + 1"]', "gives 257 elements of the box; allowed: 1 to 256"),
    ("box = [4, 1]", "a row of the box has 8 bytes, which is not a multiple of 16"),
    (
        'box = [128, 64], swizzle = "128B"',
        "a row of the box has 256 bytes, but the swizzle 128B spans only 128",
    ),
    (
        'box = [64, 64], swizzle = "64B"',
        "a row of the box has 128 bytes, but the swizzle 64B spans only 64",
    ),
    (
        'box = [32, 64], swizzle = "32B"',
        "a row of the box has 64 bytes, but the swizzle 32B spans only 32",
    ),
    (
        "box = [64, 8], dims = [64, 2], strides = [20]",
        "in dimension 1 of the tensor map is 40 bytes",
    ),
    ("box = [8, 8], dims = [9, 2]", "in dimension 1 of the tensor map is 18 bytes"),
    ("box = [64, 8], dims = [64, 2], strides = []", "0 strides for 2 dimensions"),
    ("box = [64, 8], strides = [64, 64]", "2 strides for 2 dimensions"),
    (
        'box = [64, 8], dims = [64, "M"], strides = ["2 * K"]',
        f"covers {4095 * 2048 + 64} elements, but A has {4096 * 1024}",
    ),
    ("box = [64, 8], dims = [0, 2]", "'0' gives 0; allowed: 1 to 4294967296"),
    ('box = [64, 8], dims = [64, 2], strides = ["2 ** 39"]', "but must be less than 2**40"),
]


@pytest.mark.parametrize(("new", "said"), LIMITS)
def test_what_the_driver_would_refuse_is_told_with_its_place(read, new, said) -> None:
    assert OLD in TOML
    with pytest.raises(SpecError) as caught:
        read(TOML.replace(OLD, new))
    assert said in caught.value.what
    assert "kernel.toml:10: arguments[0].tensor_map." in (caught.value.where or "")


@pytest.mark.parametrize("type_name", ["int16", "int64", "bool", "float8_e4m3", "float8_e5m2"])
def test_what_is_whole_numbers_to_a_map_has_no_nan(read, type_name) -> None:
    toml = TOML.replace('"bfloat16"', f'"{type_name}"').replace('swizzle = "128B"', 'fill = "nan"')
    with pytest.raises(
        SpecError, match=f"A is {type_name}, which a tensor map cannot fill with NaN"
    ):
        read(toml)


def test_an_array_of_six_dimensions_needs_a_view(read) -> None:
    toml = TOML.replace('shape = ["M", "K"]', "shape = [2, 2, 2, 2, 2, 64]")
    with pytest.raises(SpecError, match="A has 6 dimensions; a tensor map has at most 5"):
        read(toml)


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "said"),
    [
        ('of = "A"', 'of = "B"', 10, "tensor_map.of", "no array is called 'B' the arrays are A"),
        ('of = "A", ', "", 10, "tensor_map", "has no 'of'"),
        ('of = "A"', 'of = "A", boxes = 1', 10, "tensor_map.boxes", "did you mean 'box'"),
        ('"128B"', '"16B"', 10, "tensor_map.swizzle", "valid available: none, 32B, 64B, 128B"),
        ('box = [64, "BM"]', "box = []", 10, "tensor_map.box", "a list of length >= 1"),
        ('box = [64, "BM"]', "box = [1.5]", 10, "tensor_map.box[0]", "a whole number or an exp"),
        ('name = "map_a"', 'name = "map_a"\ntype = "int8"', 10, "type", "a tensor map cannot have"),
        (
            'name = "map_a"',
            'name = "map_a"\noutput = true',
            10,
            "output",
            "a tensor map cannot have",
        ),
        ('name = "map_a"', 'name = "map_a"\nshape = [1]', 8, None, "needs exactly one of shape"),
        ('type = "bfloat16"\n', "", 12, None, "argument 'A' has no 'type'"),
    ],
)
def test_a_mistake_has_line_and_key(read, old, new, line, key, said) -> None:  # noqa: PLR0917
    assert old in TOML
    with pytest.raises(SpecError) as caught:
        read(TOML.replace(old, new, 1))
    assert said in f"{caught.value.what} {caught.value.hint}"
    where = caught.value.where or ""
    assert f"kernel.toml:{line}: arguments[" in where
    assert where.endswith(f".{key}" if key else "]")


def test_a_scalar_is_a_parameter(read) -> None:
    scalar = '[[arguments]]\nname = "n"\ntype = "int32"\nvalue = 1\npassed = false\n'
    with pytest.raises(SpecError, match="a scalar cannot have 'passed'") as caught:
        read(TOML + scalar)
    assert (caught.value.where or "").endswith("kernel.toml:21: arguments[2].passed")
