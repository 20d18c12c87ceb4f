"""Structures and vectors that are passed by value."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from kernelprof.launch.check.arrays import encode_structure, fill, reference_case
from kernelprof.launch.specification.expressions import SpecError
from kernelprof.launch.specification.spec import ResolvedStructure

TOML = """\
kernel = "k"
block = [32]
grid = [1]
reference = "none"
sizes = { w = 100 }

[[arguments]]
name = "p"
members = [
    { name = "on", type = "bool", value = 1 },
    { name = "tint", type = "float32", values = [1, 2, 3, "w / 8"], align = 16 },
    { name = "x", of = "x" },
    { name = "w", type = "int16", value = "w" },
    { name = "scale", type = "float16", value = 0.1 },
]

[[arguments]]
name = "x"
type = "float32"
shape = ["w"]
output = true
passed = false
"""


def test_members_lie_as_c_has_them(read) -> None:
    launch = read(TOML).resolve()
    (found,) = launch.parameters
    assert isinstance(found, ResolvedStructure)
    pieces = [(each.member.name, each.offset) for each in found.layout.members]
    assert pieces == [("on", 0), ("tint", 16), ("x", 32), ("w", 40), ("scale", 42)]
    stored = encode_structure(found.layout, {"x": 0x7F00}.__getitem__)
    assert len(stored) == 48
    assert stored[0] == 1
    assert struct.unpack_from("<4fQhe", stored, 16)[:6] == (1, 2, 3, 12.5, 0x7F00, 100)
    assert stored[1:16] == bytes(15)


def test_a_reference_gets_single_numbers_as_the_kernel_does(read, tmp_path) -> None:
    launch = read(TOML).resolve()
    arrays = {name: fill(each, tmp_path, launch.sizes) for name, each in launch.arrays.items()}
    case = reference_case(launch, arrays)
    assert case.scalars == {"p_on": 1, "p_w": 100, "p_scale": float(np.float16(0.1))}


def test_a_document_of_it_is_read_again(read) -> None:
    document = read(TOML).document()
    structured, array = document["arguments"]
    assert structured["members"][0] == {"name": "on", "type": "bool", "value": "1"}
    assert structured["members"][1]["align"] == 16
    assert structured["members"][2] == {"name": "x", "of": "x"}
    assert set(structured) == {"name", "members"}
    assert array["passed"] is False


@pytest.mark.parametrize(
    ("old", "new", "where", "said"),
    [
        ('of = "x"', 'of = "z"', "members[2].of", "no array is called 'z'"),
        ('of = "x"', "value = 1", "members[2]", "member 'x' has no 'type'"),
        (
            'of = "x"',
            'of = "x", type = "int8"',
            "members[2]",
            "is a pointer and must not have a 'type'",
        ),
        (', of = "x"', "", "members[2]", "needs exactly one of 'value'"),
        ('name = "x", of', 'name = "on", of', "members[2].name", "two members are called 'on'"),
        ("value = 1 }", "value = 2 }", "members[0].value", "allowed: 0 to 1"),
        ("align = 16", "align = 3", "members[1].align", "align"),
        ('name = "p"', 'name = "p"\ntype = "int8"', "type", "a structure cannot have 'type'"),
        ('name = "p"', 'name = "p"\nvalue = 1', "arguments[0]", "needs exactly one of shape"),
        ("values = [1,", "value = [1,", "members[1].value", "a number or an expression"),
    ],
)
def test_a_mistake_is_told_by_its_place(read, old, new, where, said) -> None:
    assert TOML.count(old) == 1
    with pytest.raises(SpecError) as caught:
        read(TOML.replace(old, new))
    assert said in f"{caught.value.what} {caught.value.hint}"
    assert (caught.value.where or "").endswith(where)


def test_no_parameter_has_room_for_more(read) -> None:
    many = ", ".join(["1"] * 1000)
    with pytest.raises(SpecError, match="p has 8,032 bytes; kernelprof supports at most 4,096"):
        read(TOML.replace('"float32", values = [1, 2, 3, "w / 8"]', f'"int64", values = [{many}]'))
