"""The part of a source that a compiler sees that was told nothing: what ``#ifdef`` leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_BROUGHT: Final = frozenset(("__CUDACC__", "__cplusplus", "__CUDA_ARCH__", "__linux__"))
"""What ``nvcc`` defines by itself."""


def active(roots: Sequence[Node]) -> Iterator[Node]:
    """The nodes of some files, in the order of their text, without parts that are left out.

    A part is left out by ``#ifdef`` of a name, or ``#if defined`` of it, that none of the files
    defines, and by ``#if 0``. Other conditions are not worked out, and hold.
    """
    defined = {
        syntax.text(syntax.child(node, "name"))
        for root in roots
        for node in syntax.walk(root)
        if node.type in {"preproc_def", "preproc_function_def"}
    } | _BROUGHT
    for root in roots:
        pending = [root]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(_seen(node, defined)))


def _seen(node: Node, defined: set[str] | frozenset[str]) -> list[Node]:
    """What is seen below a node."""
    holds = _holds(node, defined)
    if holds is None:
        return node.children
    alternative = syntax.child(node, "alternative")
    if holds:
        return [n for n in node.children if not syntax.same(n, alternative)]
    return [] if alternative is None else [alternative]


def _holds(node: Node, defined: set[str] | frozenset[str]) -> bool | None:
    """Whether a condition of the preprocessor holds; ``None`` for any other node."""
    if node.type == "preproc_ifdef":
        there = syntax.text(syntax.child(node, "name")) in defined
        negative = bool(node.children) and syntax.text(node.children[0]) == "#ifndef"
        return negative or there
    if node.type not in {"preproc_if", "preproc_elif"}:
        return None
    condition = syntax.child(node, "condition")
    if condition is None:
        return True
    if condition.type == "preproc_defined":
        names = [syntax.text(n) for n in condition.named_children]
        return bool(names) and names[0] in defined
    return syntax.text(condition) != "0"
