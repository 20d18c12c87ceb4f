"""Specifications: what they mean, and that a mistake is answered with its line and key."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.launch.conftest import SGEMM, commented

from kernelprof.errors import InputError, KernelprofError
from kernelprof.launch.specification.expressions import Expression
from kernelprof.launch.specification.reader import load_spec
from kernelprof.launch.specification.spec import ResolvedArray, ResolvedScalar

SMALL = 'kernel = "k"\nblock = [32]\ngrid = [1]\nreference = "none"\n'

MISTAKES = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))[
    "mistakes"
]

MAPPED = (
    SMALL
    + """\
launch = { cluster = [1] }
compile = { architecture_specific = false }
arguments = [
    { name = "map", tensor_map = { of = "x", box = [64, 8], dims = [64, 16], strides = [64] } },
    { name = "x", type = "float8_e5m2", shape = [1024], fill = "normal", passed = false },
]
"""
)


def test_everything_is_read(sgemm_cu) -> None:
    spec = load_spec(sgemm_cu)
    assert (spec.kernel, spec.reference) == ("sgemm", "gemm")
    assert spec.sizes == {"M": 4096, "N": 2048, "K": 1024}
    assert spec.check_sizes == {"M": 256, "N": 96, "K": 1024}
    assert spec.check.tolerance == 1e-4
    assert spec.launch.warmup == 3
    assert spec.launch.measured == 7
    assert spec.launch.time_limit_s == 2.5
    assert spec.compile.arguments() == ("-std=c++17", "-DTILE=16", "-DMODE=fast", "--use_fast_math")
    a, b, c, m = spec.arguments
    assert (a.fill, a.seed, a.output) == ("random", 7, False)
    assert (b.fill, b.seed) == ("random", None)
    assert (c.fill, c.output) == (None, True)
    assert (m.shape, m.value) == (None, Expression("M"))
    assert spec.outputs == (c,)


def test_defaults(read) -> None:
    spec = read(SMALL)
    assert (spec.launch.warmup, spec.launch.measured) == (5, 20)
    assert spec.check.tolerance == 1e-5
    assert spec.flops is None
    assert spec.resolve().shared_bytes == 0
    assert spec.resolve().block == (32, 1, 1)


def test_a_launch_in_numbers(sgemm_cu) -> None:
    launch = load_spec(sgemm_cu).resolve()
    assert launch.grid == (128, 256, 1)
    assert launch.block == (16, 16, 1)
    assert launch.shared_bytes == 1024
    assert launch.flops == 2 * 4096 * 2048 * 1024
    assert launch.min_bytes == 4 * (4096 * 1024 + 1024 * 2048 + 4096 * 2048)
    a, *_, m = launch.arguments
    assert isinstance(a, ResolvedArray)
    assert a.shape == (4096, 1024)
    assert isinstance(m, ResolvedScalar)
    assert m.value == 4096


def test_clusters_fill_the_grid(read, sgemm) -> None:
    toml = sgemm.replace("[launch]", '[launch]\ncluster = [2, "TILE // 8"]')
    spec = read(toml)
    assert spec.resolve().cluster == (2, 2, 1)
    assert spec.document()["launch"]["cluster"] == ["2", "TILE // 8"]
    assert read(sgemm).resolve().cluster is None
    with pytest.raises(InputError, match="the grid must consist of whole clusters"):
        spec.resolve({"M": 16, "N": 16, "K": 16})


def test_whole_numbers_are_not_normal(read, sgemm) -> None:
    with pytest.raises(InputError, match="int32 cannot hold normally distributed values"):
        read(sgemm.replace('"float32"', '"int32"', 1).replace('"random"', '"normal"', 1))


def test_a_sweep_changes_sizes_and_defines(sgemm_cu) -> None:
    spec = load_spec(sgemm_cu).changed(sizes={"N": 64}, defines={"TILE": 8})
    assert spec.resolve().grid == (8, 256, 1)
    assert spec.resolve().block == (16, 8, 1)
    assert "-DTILE=8" in spec.compile.arguments()
    assert load_spec(sgemm_cu).resolve().grid == (128, 256, 1)


def test_a_document_is_a_specification_again(sgemm_cu, read) -> None:
    for spec in (load_spec(sgemm_cu), read(SMALL), read(MAPPED)):
        again = read("\n".join(f"{key} = {_toml(value)}" for key, value in spec.document().items()))
        assert replace(again, path=spec.path) == spec


def _toml(value) -> str:
    """A value of a document as TOML: that of JSON, but for tables."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: f"{each['key']}: {each['said']}")
def test_a_mistake_is_answered_with_line_and_key(sgemm_cu, mistake) -> None:
    assert mistake["old"] in SGEMM
    text = SGEMM.replace(mistake["old"], mistake["new"], 1)
    sgemm_cu.write_text("// what it shows\n" + commented(text))
    with pytest.raises(KernelprofError) as caught:
        load_spec(sgemm_cu)
    error = caught.value
    assert mistake["said"] in f"{error.what} {error.hint}"
    place = f"{mistake['line'] + 2}: {mistake['key']}" if "line" in mistake else "3"
    assert error.where == f"{sgemm_cu}:{place}"


@pytest.mark.parametrize(
    ("toml", "line"),
    [('kernel = "k\n', 3), ('kernel = "k"\nkernel = "l"\n', 4), ("a = \n", 3), ("[a\n", 3)],
)
def test_bad_toml_is_pointed_at(tmp_path, toml, line) -> None:
    path = tmp_path / "k.cu"
    path.write_text("//\n" + commented(toml))
    with pytest.raises(InputError, match="not valid TOML") as caught:
        load_spec(path)
    assert caught.value.where.startswith(f"{path}:{line}")


def test_a_place_to_fill_in_is_pointed_at(sgemm_cu) -> None:
    text = sgemm_cu.read_text()
    mark = "  # kernelprof: please fill in"
    text = text.replace('reference = "gemm"', f'reference = "none"{mark}')
    sgemm_cu.write_text(text.replace("// M = 4096", f"// M = 1{mark}: the rows"))
    with pytest.raises(InputError) as caught:
        load_spec(sgemm_cu)
    assert caught.value.what == "reference must still be filled in (and 1 more below)"
    assert caught.value.where == f"{sgemm_cu}:6"


def test_the_mark_inside_a_string_is_text(read) -> None:
    toml = SMALL + '[compile]\ndefines = { X = "# kernelprof: please fill in" }\n'
    assert read(toml).compile.defines["X"] == "# kernelprof: please fill in"


TYPED = """\
kernel = "k"
block = [32]
grid = [1]
reference = "none"
arguments = [
    {{ name = "x", type = "{inputs}", shape = [8] }},
    {{ name = "y", type = "{output}", shape = [8], output = true }},
    {{ name = "count", type = "int32", shape = [8], output = true }},
    {{ name = "sum", type = "float32", shape = [8], output = true }},
]
"""


@pytest.mark.parametrize(
    ("inputs", "output", "of_output", "of_sum"),
    [
        ("float32", "float32", 1e-5, 1e-5),
        ("float64", "float64", 1e-5, 1e-5),
        ("float32", "float16", 2**-11, 1e-5),
        ("bfloat16", "bfloat16", 2**-8, 1e-5),
        ("float16", "float32", 1e-5, 1e-5),
        ("float8_e4m3", "bfloat16", 2**-6, 2**-6),
        ("float8_e4m3", "float8_e5m2", 2**-3, 2**-6),
        ("int8", "float8_e4m3", 2**-4, 1e-5),
    ],
)
def test_the_tolerance_follows_from_the_types(read, inputs, output, of_output, of_sum) -> None:
    toml = TYPED.format(inputs=inputs, output=output)
    spec = read(toml)
    again = read("\n".join(f"{key} = {_toml(value)}" for key, value in spec.document().items()))
    for each in (spec, again):
        y, count, total = each.outputs
        assert each.output_tolerance(y) == of_output
        assert each.output_tolerance(total) == of_sum
        # Whole numbers are equal or wrong.
        assert each.output_tolerance(count) == 1e-5
        assert each.tolerance == max(of_output, of_sum)
    given = read(f"check = {{ tolerance = 3e-3 }}\n{toml}")
    assert {given.output_tolerance(each) for each in given.outputs} == {3e-3, given.tolerance}


def test_the_tolerance_of_earlier_specifications_is_as_it_was(read, sgemm) -> None:
    """It is a part of the digest of a capture."""
    assert read(SMALL).document()["check"]["tolerance"] == 1e-5
    without = read(sgemm.replace("tolerance = 1e-4", ""))
    assert without.document()["check"] == {"sizes": {"M": 256, "N": 96}, "tolerance": 1e-5}
