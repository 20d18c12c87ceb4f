"""Sizes and defines on a command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.errors import UsageError
from kernelprof.launch.specification.overrides import LaunchOverrides, parse_define, parse_size
from kernelprof.launch.specification.reader import load_spec

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True)
NUMBERS = st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("text", "found"),
    [("M=2048", ("M", 2048)), ("_n1=1", ("_n1", 1)), ("M=007", ("M", 7))],
)
def test_a_size(text, found) -> None:
    assert parse_size(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "M", "M=", "=4", "M=0", "M=-4", "M=1.5", "M=1e3", "M=0x10", "M = 4", "1M=4", "M=4 ",
     "M=٤", "M=1000000000000000"],
)  # fmt: skip
def test_what_is_no_size(text) -> None:
    with pytest.raises(UsageError) as caught:
        parse_size(text)
    assert (
        caught.value.what == f"--size {text!r} is not NAME=VALUE with a whole number of 1 or more"
    )
    assert caught.value.hint == "for example --size M=2048"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TILE=16", 16),
        ("TILE", 1),
        ("TILE=", ""),
        ("TILE=-3", -3),
        ("TILE=1.5", 1.5),
        ("TILE=1e3", 1000.0),
        ("TILE=2.5e-3", 0.0025),
        ("TILE=010", "010"),
        ("TILE=0x10", "0x10"),
        ("TILE=1.5f", "1.5f"),
        ("TILE=16u", "16u"),
        ("TILE=1_000", "1_000"),
        ("TILE=nan", "nan"),
        ("TILE=float4", "float4"),
        ("TILE=a=b", "a=b"),
        ("TILE= 1", " 1"),
    ],
)
def test_a_define(text, value) -> None:
    name, found = parse_define(text)
    assert (name, found, type(found)) == ("TILE", value, type(value))


@pytest.mark.parametrize("text", ["", "=1", "2X=1", "a b=1", "TILE =1", "-DTILE=16"])
def test_what_is_no_define(text) -> None:
    with pytest.raises(UsageError) as caught:
        parse_define(text)
    assert caught.value.what == f"--define {text!r} is not NAME=VALUE"


@pytest.mark.parametrize("value", ["$(id)", "`id`", "a\\", "1\nid"])
def test_a_define_that_a_shell_would_read_is_refused(sgemm_cu, value) -> None:
    asked = LaunchOverrides(defines={"MODE": value})
    with pytest.raises(UsageError) as caught:
        asked.applied_to(load_spec(sgemm_cu), sgemm_cu)
    assert caught.value.what.startswith("--define MODE contains ")
    assert caught.value.where == str(sgemm_cu)


def test_the_options_that_give_them() -> None:
    found = LaunchOverrides({"M": 64, "N": 1}, {"TILE": 16, "MODE": "fast", "X": 0.5}).options()
    assert found == [
        *("--size", "M=64", "--size", "N=1"),
        *("--define", "TILE=16", "--define", "MODE=fast", "--define", "X=0.5"),
    ]
    assert LaunchOverrides().options() == []


@given(
    st.dictionaries(NAMES, st.integers(1, 10**15 - 1)),
    st.dictionaries(NAMES, NUMBERS | st.text().map(lambda text: parse_define(f"X={text}")[1])),
)
def test_options_are_read_as_what_they_were_made_of(sizes, defines) -> None:
    words = LaunchOverrides(sizes, defines).options()
    given_sizes = [words[at + 1] for at in range(0, len(words), 2) if words[at] == "--size"]
    given_defines = [words[at + 1] for at in range(0, len(words), 2) if words[at] == "--define"]
    assert dict(map(parse_size, given_sizes)) == sizes
    read = dict(map(parse_define, given_defines))
    assert read == defines
    assert [type(each) for each in read.values()] == [type(each) for each in defines.values()]
