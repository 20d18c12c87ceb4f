"""Keys of a TOML text and their lines."""

from __future__ import annotations

import tomllib

import pytest

from kernelprof.launch.syntax import parse, toml_places, walk

TEXT = '''\
# top
title = "a # b"   # why
"quoted key" = 'C:\\'
dotted.inner.key = [
  1,  # one
  "two, ]",
  { a = 1, b = [ "x", "y" ] },
]
text = """
[no.header] ""still
key = 1
"""
literal = \'\'\'
# no comment\'\'\'
when = 2020-01-02 03:04:05

[table]
x = 1.5e3
[table.sub]
y = true
[[list]]
z = { p = { q = 1 } }
[[list]]
z = 2
[list.inner]
w = 3
[[list.deep]]
v = 4
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("quoted key",), 3),
        (("dotted", "inner", "key"), 4),
        (("dotted", "inner", "key", 0), 5),
        (("dotted", "inner", "key", 1), 6),
        (("dotted", "inner", "key", 2, "b", 1), 7),
        (("text",), 9),
        (("literal",), 13),
        (("when",), 15),
        (("table",), 17),
        (("table", "x"), 18),
        (("table", "sub", "y"), 20),
        (("list", 0), 21),
        (("list", 0, "z", "p", "q"), 22),
        (("list", 1, "z"), 24),
        (("list", 1, "inner", "w"), 26),
        (("list", 1, "deep", 0, "v"), 28),
        (("list", 1, "unknown"), 23),
        (("unknown",), 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines(path, line, newline) -> None:
    assert toml_places(TEXT.replace("\n", newline)).line(path) == line


def test_every_key_has_a_place() -> None:
    found = toml_places(TEXT).lines

    def check(value, path) -> None:
        if path:
            assert path in found
        if isinstance(value, dict):
            for key, inner in value.items():
                check(inner, (*path, key))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                check(inner, (*path, index))

    check(tomllib.loads(TEXT), ())


def test_comments_are_those_outside_strings() -> None:
    assert toml_places(TEXT).comments == [(1, "# top"), (2, "# why"), (5, "# one")]


def test_attributes_that_the_grammar_lacks_hide_nothing_and_move_nothing() -> None:
    source = "/* é */ struct __align__(sizeof(int4) /* é */) Wide { float x; };\n"
    source += "__global__ void __cluster_dims__(2, 1, 1) k(Wide w) {}\n"
    root = parse(source)
    assert not root.has_error
    found = {node.type: node for node in walk(root)}
    assert {"struct_specifier", "function_definition"} <= found.keys()
    kernel = found["function_definition"]
    assert source.encode()[kernel.start_byte :].startswith(b"__global__")
