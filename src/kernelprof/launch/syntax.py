"""The syntax tree of a CUDA source, by tree-sitter: one place that knows the library."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node, Parser


@cache
def _parser() -> Parser:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def parse(source: str) -> Node:
    """The root of the tree. The parser never fails: what it cannot read becomes an ERROR node."""
    return _parser().parse(source.encode()).root_node


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
