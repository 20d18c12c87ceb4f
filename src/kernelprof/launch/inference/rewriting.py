"""What is rewritten in a source before it is read, so that more of it can be understood.

Macros that stand for the head of a loop (``CUDA_KERNEL_LOOP(i, n) { ... }``) are calls to the
grammar: the loop and its bound would not be seen. Nor would be what follows a macro that is a
statement without a semicolon, a launch whose brackets are apart, and the number of a macro with a
comment. A number of blocks along x and y (``blockIdx.x + blockIdx.y * gridDim.x``) is that of a
grid along x as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Macros = Mapping[str, tuple[tuple[str, ...], str]]

_CONTINUED: Final = re.compile(r"[ \t]*\\\n[ \t]*")
_LOOP: Final = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([\w, \t]*)\)[ \t]+(for[ \t]*\(.*)$", re.MULTILINE
)
_NUMBER: Final = re.compile(
    r"\(\s*blockIdx\.x\s*\+\s*(?:blockIdx\.y\s*\*\s*gridDim\.x|gridDim\.x\s*\*\s*blockIdx\.y)\s*\)"
    r"|\(\s*(?:blockIdx\.y\s*\*\s*gridDim\.x|gridDim\.x\s*\*\s*blockIdx\.y)\s*\+\s*blockIdx\.x\s*\)"
)
_DEFINITION: Final = re.compile(
    r"^([ \t]*#[ \t]*define\b[^\n\"'/]*(?:/(?!/)[^\n\"'/]*)*)//.*$", re.MULTILINE
)
"""A macro's text with a comment, which the grammar takes for a part of it."""
_SPLIT: Final = re.compile(r"<<[ \t]*<([^;{}]*?)>>[ \t]*>")
"""A launch as formatters for C++ write it: ``<< <8, 64 >> >``."""
_DEFINED: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])", re.MULTILINE)
_ALONE: Final = re.compile(r"^([ \t]+)([A-Z][A-Z0-9_]*)[ \t]*$", re.MULTILINE)
"""A macro that stands alone on a line, indented as a statement is."""
_FAR: Final = 2000
"""Bytes before a macro, comments for the most part, in which a statement ends."""
_COMMENT: Final = re.compile(r"/\*.*?\*/|//.*$", re.MULTILINE)


def rewrite(texts: Sequence[str]) -> list[str]:
    """Rewrite a source and what it includes; every line keeps its number."""
    loops = _loop_macros(texts)
    defined = {name for text in texts for name in _DEFINED.findall(text)}

    def without_statement(match: re.Match[str]) -> str:
        before = _COMMENT.sub("", match.string[max(0, match.start() - _FAR) : match.start()])
        is_statement = match[2] in defined and before.rstrip().endswith((";", "{", "}"))
        return match[1] if is_statement else match[0]

    return [
        _ALONE.sub(without_statement, _NUMBER.sub(_one_axis, _expand_loops(text, loops)))
        for text in (_DEFINITION.sub(r"\1", _SPLIT.sub(r"<<<\1>>>", each)) for each in texts)
    ]


def _one_axis(match: re.Match[str]) -> str:
    return "blockIdx.x" + "\n" * match[0].count("\n")


def _loop_macros(texts: Iterable[str]) -> Macros:
    # Those whose text begins a loop: their parameters, and that text
    return {
        name: (tuple(map(str.strip, parameters.split(","))), _COMMENT.sub("", head).rstrip())
        for text in texts
        for name, parameters, head in _LOOP.findall(_CONTINUED.sub(" ", text))
    }


def _expand_loops(text: str, macros: Macros) -> str:
    if not macros:
        return text
    used = re.compile(rf"^[ \t]*({'|'.join(map(re.escape, macros))})[ \t]*(?=\()", re.MULTILINE)
    written, done = [], 0
    for match in used.finditer(text):
        arguments, end = _arguments(text, match.end())
        parameters, head = macros[match[1]]
        if match.start() < done or len(arguments) != len(parameters):
            continue
        head = _substitute(head, dict(zip(parameters, arguments, strict=True)))
        lines = "\n" * text.count("\n", match.start(), end)
        written += [text[done : match.start()], head, lines]
        done = end
    return "".join((*written, text[done:]))


def _substitute(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda word: values.get(word[0], word[0]), text)


def _arguments(text: str, at: int) -> tuple[list[str], int]:
    """What stands in the parentheses that open there, and where they end."""
    arguments, depth, begin = [], 0, at + 1
    for place in range(at, len(text)):
        if text[place] in "([{":
            depth += 1
        elif text[place] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and text[place] == ","):
            arguments.append(" ".join(text[begin:place].split()))
            begin = place + 1
        if depth == 0:
            return arguments, place + 1
    return [], at
