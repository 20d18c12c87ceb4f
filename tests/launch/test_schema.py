"""The JSON Schema and the reader agree."""

from __future__ import annotations

import json
import tomllib
from importlib import resources

import jsonschema
import pytest
from tests.launch.conftest import SGEMM
from tests.launch.test_spec import SMALL

from kernelprof.errors import KernelprofError
from kernelprof.launch import expressions, read_spec, spec
from kernelprof.launch.expressions import FUNCTIONS

SCHEMA = json.loads(
    resources.files("kernelprof.launch").joinpath("schema/launch.v1.schema.json").read_text()
)
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


def test_lists_and_patterns_are_the_readers() -> None:
    definitions, properties = SCHEMA["$defs"], SCHEMA["properties"]
    assert set(definitions["type"]["enum"]) == set(spec.TYPES)
    assert definitions["expression"]["anyOf"][0]["maxLength"] == expressions.MAX_LENGTH
    for names in (properties["sizes"], properties["check"]["properties"]["sizes"]):
        assert set(names["propertyNames"]["not"]["enum"]) == FUNCTIONS
    patterns = {
        properties["kernel"]["pattern"]: read_spec.KERNEL_NAME,
        properties["reference"]["pattern"]: read_spec.REFERENCE_NAME,
        properties["sizes"]["propertyNames"]["pattern"]: read_spec.IDENTIFIER,
        properties["compile"]["properties"]["standard"]["pattern"]: read_spec.STANDARD,
        definitions["array"]["properties"]["fill"]["pattern"]: f"({read_spec.FILL_NAME})",
    }
    for written, meant in patterns.items():
        assert written == f"^{meant}$"


def test_every_key_of_a_document_is_described(read) -> None:
    properties = SCHEMA["properties"]
    document = read(SGEMM).document()
    assert set(document) == set(properties)
    for table in ("check", "compile", "launch"):
        assert set(document[table]) == set(properties[table]["properties"])
    array, scalar = document["arguments"][0], document["arguments"][-1]
    assert set(array) == set(SCHEMA["$defs"]["array"]["properties"])
    assert set(scalar) == set(SCHEMA["$defs"]["scalar"]["properties"])
