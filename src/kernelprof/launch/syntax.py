"""Syntax trees of CUDA and TOML, by tree-sitter: the one place that knows the library."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser

TomlPath = tuple[str | int, ...]

_UNKNOWN = re.compile(
    rb"\b__(?:cluster_dims|block_size|maxnreg|align)__\s*\((?:[^()]|\([^()]*\))*\)"
)
"""Attributes that the grammar does not know: it would not see the kernel or class for them."""


@cache
def _parser(language: str) -> Parser:
    import importlib

    from tree_sitter import Language, Parser

    grammar: Any = importlib.import_module(f"tree_sitter_{language}")
    return Parser(Language(grammar.language()))


def parse(source: str) -> Node:
    """The root of a CUDA source. The parser never fails: what it cannot read is an ERROR node.

    Its bytes are those of the source in UTF-8, with spaces in the place of ``_UNKNOWN``.
    """
    known = _UNKNOWN.sub(lambda found: re.sub(rb"\S", b" ", found[0]), source.encode())
    return _parser("cuda").parse(known).root_node


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.children))


def text(node: Node | None) -> str:
    """The node's source text on one line."""
    return "" if node is None or node.text is None else " ".join(node.text.decode().split())


def child(node: Node | None, field: str) -> Node | None:
    """A named part of a node that may be missing itself."""
    return None if node is None else node.child_by_field_name(field)


def same(one: Node | None, other: Node | None) -> bool:
    """Whether two nodes are the same place in the tree."""
    return one is not None and other is not None and one.id == other.id


@dataclass(slots=True)
class TomlPlaces:
    """Line numbers, from 1: of every key by its path, and of every comment."""

    lines: dict[TomlPath, int] = field(default_factory=dict)
    comments: list[tuple[int, str]] = field(default_factory=list)

    def line(self, path: TomlPath) -> int:
        """The line of that key, or of the nearest table around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def toml_places(source: str) -> TomlPlaces:
    """Where the keys and comments of a TOML text stand, which ``tomllib`` does not say.

    ``tomllib`` has read the text before, so it is known to be well-formed.
    """
    root = _parser("toml").parse(source.replace("\r\n", "\n").encode()).root_node
    found = TomlPlaces()
    tables: dict[TomlPath, int] = {}
    for node in root.named_children:
        _place(node, (), found, tables)
    found.comments = [(_line(node), text(node)) for node in walk(root) if node.type == "comment"]
    return found


def _place(node: Node, path: TomlPath, found: TomlPlaces, tables: dict[TomlPath, int]) -> None:
    """A pair, a table or a value below a path; ``tables`` counts those of each array of tables."""
    inside = [each for each in node.named_children if each.type != "comment"]
    if node.type in {"table", "table_array_element"}:
        for key in _toml_keys(inside.pop(0)):
            path = (*path, tables[path], key) if path in tables else (*path, key)
        if node.type == "table_array_element":
            tables[path] = tables.get(path, -1) + 1
            found.lines.setdefault(path, _line(node))
            path = (*path, tables[path])
        found.lines[path] = _line(node)
    elif node.type == "pair":
        for key in _toml_keys(inside.pop(0)):
            path = (*path, key)
            found.lines.setdefault(path, _line(node))
    elif node.type == "array":
        for index, each in enumerate(inside):
            found.lines[(*path, index)] = _line(each)
            _place(each, (*path, index), found, tables)
    if node.type in {"table", "table_array_element", "pair", "inline_table"}:
        for each in inside:
            _place(each, path, found, tables)


def _toml_keys(node: Node) -> list[str]:
    """The parts of a key: bare, quoted, or dotted."""
    if node.type == "dotted_key":
        return [each for part in node.named_children for each in _toml_keys(part)]
    written = "" if node.text is None else node.text.decode()
    return [written if node.type == "bare_key" else tomllib.loads(f"key = {written}")["key"]]


def _line(node: Node) -> int:
    return node.start_point[0] + 1
