"""A source without what its functions do: their heads are read where the parser lost its way.

A body of macros without semicolons, or one whose braces an ``#ifdef`` doubles, has no syntax of its
own before it is preprocessed, and the parser does not see the kernel around it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_PIECE: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|[{}]|[^\s{}"'/]+|/""", re.DOTALL
)


def heads(source: str, root: Node) -> Node:
    """The tree of a source without bodies if the whole one, ``root``, has errors and it none.

    Both have the same places in bytes.
    """
    if not root.has_error:
        return root
    found = syntax.parse(without_bodies(source))
    return root if found.has_error else found


def without_bodies(source: str) -> str:
    """The source with spaces in the place of bodies; all other bytes stay where they are.

    A brace that begins a line ends a body, also if an ``#ifdef`` opened more of them.
    """
    parts = []
    end, depth, start = 0, 0, 0
    before = ""
    for piece in _PIECE.finditer(source):
        text = piece[0]
        if text.startswith(("//", "/*")):
            continue
        if depth:
            depth += (text == "{") - (text == "}")
            if text == "}" and source[piece.start() - 1] == "\n":
                depth = 0
            if depth == 0:
                parts += [source[end:start], _blank(source[start : piece.start()])]
                end = piece.start()
        elif text == "{" and before.endswith(")"):
            depth, start = 1, piece.end()
        before = text
    return "".join((*parts, source[end:]))


def _blank(text: str) -> str:
    return re.sub(r"\S", lambda found: " " * len(found[0].encode()), text)
