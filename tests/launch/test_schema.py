"""The JSON Schema and the reader agree."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from tests.launch.conftest import SGEMM
from tests.launch.test_spec import SMALL
from tests.support.schemas import specification_schema

from kernelprof.errors import KernelprofError
from kernelprof.interface.reference import propose_specification
from kernelprof.launch.check import references
from kernelprof.launch.source import SpecBlock, cut_block
from kernelprof.launch.specification import elements
from kernelprof.launch.specification.reader import read_spec

SCHEMA = json.loads(specification_schema())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema() -> None:
    VALIDATOR.check_schema(SCHEMA)


MAPPED = """\
kernel = "k"
block = [128]
grid = ["M // 64"]
reference = "none"
sizes = { M = 4096, K = 1024 }
compile = { architecture_specific = false }
launch = { cluster = [2] }

[[arguments]]
name = "map_a"
[arguments.tensor_map]
of = "A"
box = [64, 128, 2]
swizzle = "128B"
dims = [64, "M", "K // 64"]
strides = ["K", 64]
element_strides = [1, 1, 1]

[[arguments]]
name = "A"
type = "float8_e4m3"
shape = ["M", "K"]
fill = "normal"
passed = false
"""


STRUCTURED = """\
kernel = "k"
block = [128]
grid = [1]
reference = "none"
arguments = [
    { name = "p", members = [
        { name = "n", type = "int32", value = 7 },
        { name = "v", type = "float32", values = [0, 0.5], align = 8 },
        { name = "x", of = "x" },
    ] },
    { name = "x", type = "float32", shape = [128], passed = false },
]
"""


@pytest.mark.parametrize("toml", [SGEMM, SMALL, MAPPED, STRUCTURED])
def test_what_is_read_fits_the_schema(read, toml) -> None:
    VALIDATOR.validate(tomllib.loads(toml))
    VALIDATOR.validate(read(toml).document())


MISTAKES = [
    ('kernel = "sgemm"', ""),
    ('kernel = "sgemm"', 'kernel = "s gemm"'),
    ('kernel = "sgemm"', 'kernel = "sgemm"\nunknown = 1'),
    ('block = [16, "TILE"]', "block = []"),
    ('block = [16, "TILE"]', "block = [16, 1.5]"),
    ('"gemm"', '"a b"'),
    ("M = 4096", "M = 0"),
    ("M = 4096", "max = 1"),
    ("1e-4", "0"),
    ('["--use_fast_math"]', '["b"]'),
    ("TILE = 16,", "TILE = [16],"),
    ('"c++17"', '"17"'),
    ("measured = 7", "measured = 0"),
    ("measured = 7", "mesured = 7"),
    ('"float32"', '"float"'),
    ('shape = ["K", "N"]', ""),
    ('"random"', '"ones"'),
    ("seed = 7", "seed = -1"),
    ("output = true", "output = 1"),
    ('shape = ["K", "N"]', 'tensor_map = { of = "A", box = [8] }'),
]


MAPPED_MISTAKES = [
    ("box = [64, 128, 2]", "box = []"),
    ("box = [64, 128, 2]", ""),
    ('swizzle = "128B"', 'swizzle = "16B"'),
    ('swizzle = "128B"', 'interleave = "16B"'),
    ('swizzle = "128B"', 'l2_promotion = "32B"'),
    ('strides = ["K", 64]', 'strides = ["K", 64, 1, 1, 1]'),
    ('name = "map_a"', 'name = "map_a"\ntype = "float32"'),
    ("passed = false", "passed = 0"),
    ('fill = "normal"', 'fill = "gauss"'),
    ("cluster = [2]", "cluster = []"),
    ('type = "float8_e4m3"', 'type = "float8"'),
]


STRUCTURED_MISTAKES = [
    (", value = 7", ""),
    ("value = 7", "values = []"),
    ("value = 7", 'value = 7, of = "x"'),
    ('of = "x"', 'of = "x", type = "int8"'),
    ("align = 8", "align = 3"),
    ('name = "v"', 'name = "a b"'),
    ('name = "p"', 'name = "p", type = "int8"'),
]


@pytest.mark.parametrize(
    ("toml", "old", "new"),
    [
        *((SGEMM, *each) for each in MISTAKES),
        *((MAPPED, *each) for each in MAPPED_MISTAKES),
        *((STRUCTURED, *each) for each in STRUCTURED_MISTAKES),
    ],
)
def test_what_one_refuses_the_other_refuses(read, toml, old, new) -> None:
    assert old in toml
    toml = toml.replace(old, new, 1)
    assert not VALIDATOR.is_valid(tomllib.loads(toml))
    with pytest.raises(KernelprofError):
        read(toml)


def test_every_key_of_a_document_is_described(read) -> None:
    definitions = {name: set(each["properties"]) for name, each in SCHEMA["$defs"].items()}
    document = read(SGEMM).document()
    assert set(document) == definitions["SpecTable"]
    assert set(document["check"]) == definitions["Check"]
    # What 0.1 did not have is left out where it has its default: digests stay the same.
    assert set(document["compile"]) == definitions["CompileOptions"] - {"architecture_specific"}
    assert set(document["launch"]) == definitions["LaunchOptions"] - {"cluster"}
    array, scalar = document["arguments"][0], document["arguments"][-1]
    others = {"value", "tensor_map", "members", "passed", "limit"}
    assert set(array) == definitions["Argument"] - others
    assert set(scalar) == {"name", "type", "value"}
    document = read(MAPPED).document()
    assert document["compile"]["architecture_specific"] is False
    assert document["launch"]["cluster"] == ["2"]
    mapped, array = document["arguments"]
    assert set(mapped) == {"name", "tensor_map"}
    assert set(mapped["tensor_map"]) == definitions["TensorMap"]
    assert array["passed"] is False
    (structured, _) = read(STRUCTURED).document()["arguments"]
    members = [set(each) for each in structured["members"]]
    assert set().union(*members) == definitions["Member"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shape", [1]),
        ("fill", "zeros"),
        ("seed", 1),
        ("output", True),
        ("output", None),
        ("value", None),
    ],
)
def test_a_scalar_has_nothing_of_an_array_and_null_is_no_value(read, key, value) -> None:
    document = read(SGEMM).document()
    document["arguments"][-1][key] = value
    assert not VALIDATOR.is_valid(document)


PAGE = Path(__file__).parents[2] / "docs" / "launch-specification.md"
UNSPECIFIED = Path(__file__).parents[1] / "gpu" / "launch" / "unspecified.cu"


def test_its_example_is_what_init_writes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    example = text.split("```cuda\n")[1].split("```")[0]
    written = read_spec(cut_block(example, PAGE))
    assert written.resolve().grid == (65536, 1, 1)
    inferred = propose_specification(UNSPECIFIED).toml
    assert written.document() == read_spec(SpecBlock(inferred, UNSPECIFIED)).document()


def test_it_lists_all_types_and_references() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(re.search(rf"\b{name}\b", text) for name in elements.TYPES)
    table = text.split("## References")[1].split("Built-in references compute")[0]
    assert set(re.findall(r"`(\w+)`(?=,| \|)", table)) >= set(references.BUILTINS)
