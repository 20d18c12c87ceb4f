"""A source without what its functions do: their heads are read where the parser lost its way.

A body of macros without semicolons, or one whose braces an ``#ifdef`` doubles, has no syntax of its
own before it is preprocessed, and the parser does not see the kernel around it.
"""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|[{}]|[^\s{}"'/]+|/""", re.DOTALL
)


def without_bodies(source: str) -> str:
    """The source with spaces in the place of bodies; lines and columns stay.

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
                parts += [source[end:start], re.sub(r"\S", " ", source[start : piece.start()])]
                end = piece.start()
        elif text == "{" and before.endswith(")"):
            depth, start = 1, piece.end()
        before = text
    return "".join((*parts, source[end:]))
