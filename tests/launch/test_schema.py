"""The JSON Schema and the reader agree."""

from __future__ import annotations

import json
import tomllib

import jsonschema
import pytest
from tests.launch.conftest import SGEMM
from tests.launch.test_spec import SMALL

from kernelprof.errors import KernelprofError
from kernelprof.launch.spec import schema

SCHEMA = json.loads(schema())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema() -> None:
    VALIDATOR.check_schema(SCHEMA)


@pytest.mark.parametrize("toml", [SGEMM, SMALL])
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
]


@pytest.mark.parametrize(("old", "new"), MISTAKES)
def test_what_one_refuses_the_other_refuses(read, old, new) -> None:
    toml = SGEMM.replace(old, new, 1)
    assert not VALIDATOR.is_valid(tomllib.loads(toml))
    with pytest.raises(KernelprofError):
        read(toml)


def test_every_key_of_a_document_is_described(read) -> None:
    definitions = {name: set(each["properties"]) for name, each in SCHEMA["$defs"].items()}
    document = read(SGEMM).document()
    assert set(document) == definitions["SpecTable"]
    for table, name in (("check", "Check"), ("compile", "CompileOptions")):
        assert set(document[table]) == definitions[name]
    assert set(document["launch"]) == definitions["LaunchOptions"]
    array, scalar = document["arguments"][0], document["arguments"][-1]
    assert set(array) == definitions["Argument"] - {"value"}
    assert set(scalar) == {"name", "type", "value"}


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
