"""Syntax trees of CUDA and TOML, by tree-sitter: the one place that knows the library."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node, Parser

TomlPath = tuple[str | int, ...]
COMMENT: Final = re.compile(r"/\*[\s\S]*?\*/|//[^\n]*")
"""A comment, in a text that is not parsed yet."""
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
    """Parse a CUDA source; unreadable text is an ERROR node; byte offsets are the source's."""
    readable = _UNKNOWN.sub(lambda match: re.sub(rb"\S", b" ", match[0]), source.encode())
    return _parser("cuda").parse(readable).root_node


def parse_expression(source: str) -> Node | None:
    """Parse one expression of C++; ``None`` for text that is none."""
    tree = parse(f"int x = {source};")
    declared = next((node for node in walk(tree) if node.type == "init_declarator"), None)
    return None if tree.has_error else child(declared, "value")


def replace_names(source: str, texts: Mapping[str, str]) -> str:
    """Replace names all at once, as parameters of a macro: what replaces one may hold another."""
    return re.sub(r"[A-Za-z_]\w*", lambda word: texts.get(word[0], word[0]), source)


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes below it, in order of the text."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.children))


def text(node: Node | None) -> str:
    """Return the node's source text on one line."""
    return "" if node is None or node.text is None else " ".join(node.text.decode().split())


def child(node: Node | None, field: str) -> Node | None:
    """Return a field of a node, ``None`` if either is missing."""
    return None if node is None else node.child_by_field_name(field)


def child_text(node: Node | None, field: str) -> str:
    """Return a field's source text on one line, empty if it is missing."""
    return text(child(node, field))


def parts(node: Node | None) -> list[Node]:
    """Return the named children without comments."""
    return [] if node is None else [n for n in node.named_children if n.type != "comment"]


def inner_declarator(node: Node) -> Node | None:
    """Return what a declaration declares, or a declarator within a pointer or a reference."""
    inner = child(node, "declarator")
    if inner is None and node.type in {"reference_declarator", "parenthesized_declarator"}:
        inner = next(iter(parts(node)), None)
    return inner


def function_declarator(node: Node | None) -> Node | None:
    """Return a function's declarator: the node, or below pointers and references of its result."""
    while node is not None and node.type != "function_declarator":
        node = inner_declarator(node)
    return node


def same(one: Node | None, other: Node | None) -> bool:
    """Whether two nodes are the same node of the tree."""
    return one is not None and other is not None and one.id == other.id


@dataclass(slots=True)
class TomlPlaces:
    """Line numbers of keys by path, and of comments, from 1."""

    lines: dict[TomlPath, int] = field(default_factory=dict)
    comments: list[tuple[int, str]] = field(default_factory=list)

    def line(self, path: TomlPath) -> int:
        """Return the line of a key, or of the nearest table around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def toml_places(source: str) -> TomlPlaces:
    """Return the lines of keys and comments of a valid TOML text."""
    root = _parser("toml").parse(source.replace("\r\n", "\n").encode()).root_node
    places = TomlPlaces()
    tables: dict[TomlPath, int] = {}
    for node in root.named_children:
        _locate_keys(node, (), places, tables)
    places.comments = [(_line(node), text(node)) for node in walk(root) if node.type == "comment"]
    return places


def _locate_keys(
    node: Node, path: TomlPath, places: TomlPlaces, tables: dict[TomlPath, int]
) -> None:
    inside = [each for each in node.named_children if each.type != "comment"]
    if node.type in {"table", "table_array_element"}:
        for key in _toml_keys(inside.pop(0)):
            path = (*path, tables[path], key) if path in tables else (*path, key)
        if node.type == "table_array_element":
            tables[path] = tables.get(path, -1) + 1
            places.lines.setdefault(path, _line(node))
            path = (*path, tables[path])
        places.lines[path] = _line(node)
    elif node.type == "pair":
        for key in _toml_keys(inside.pop(0)):
            path = (*path, key)
            places.lines.setdefault(path, _line(node))
    elif node.type == "array":
        for index, each in enumerate(inside):
            places.lines[(*path, index)] = _line(each)
            _locate_keys(each, (*path, index), places, tables)
    if node.type in {"table", "table_array_element", "pair", "inline_table"}:
        for each in inside:
            _locate_keys(each, path, places, tables)


def _toml_keys(node: Node) -> list[str]:
    if node.type == "dotted_key":
        return [each for key in node.named_children for each in _toml_keys(key)]
    written = "" if node.text is None else node.text.decode()
    return [written if node.type == "bare_key" else tomllib.loads(f"key = {written}")["key"]]


def _line(node: Node) -> int:
    return node.start_point[0] + 1
