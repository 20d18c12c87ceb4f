"""What is rewritten in a source before it is read, so that more of it can be understood.

Macros that stand for the head of a loop (``CUDA_KERNEL_LOOP(i, n) { ... }``) are calls to the
grammar: the loop and its bound would not be seen. Nor would be what follows a macro that is a
statement without a semicolon, a launch whose brackets are apart, the number of a macro with a
comment, and arrays that are passed as accessors of PyTorch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference.accessors import rewrite_accessors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Macros = Mapping[str, tuple[tuple[str, ...], str]]

_CONTINUED: Final = re.compile(r"[ \t]*\\\n[ \t]*")
_LOOP: Final = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([\w, \t]*)\)[ \t]+(for[ \t]*\(.*)$", re.MULTILINE
)
_PRODUCT: Final = r"(?:blockIdx\.y\s*\*\s*gridDim\.x|gridDim\.x\s*\*\s*blockIdx\.y)"
_NUMBER: Final = re.compile(
    rf"\(\s*(?:blockIdx\.x\s*\+\s*{_PRODUCT}|{_PRODUCT}\s*\+\s*blockIdx\.x)\s*\)"
)
"""The number of a block that counts along x and y."""
_DEFINITION: Final = re.compile(
    r"^([ \t]*#[ \t]*define\b(?:[^\n\"'/]|/(?![/*])|/\*.*?\*/)*)//.*?(\\?)$", re.MULTILINE
)
"""A macro's text with a comment, which the grammar takes for a part of it."""
_SPLIT: Final = re.compile(r"(?<!<)<<[ \t]+<(?!<)([^;{}]{0,400}?)>>[ \t]*>")
"""A launch as formatters for C++ write it: ``<< <8, 64 >> >``."""
_DEFINED: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])", re.MULTILINE)
_ALONE: Final = re.compile(r"^([ \t]+)([A-Z][A-Z0-9_]*)[ \t]*$(?!\s*[,;)}\]])", re.MULTILINE)
"""A macro that stands alone on a line, indented as a statement is."""
_FAR: Final = 2000
"""Characters before a macro in which a statement ends, and that its arguments have at most."""
_IN_A_ROW: Final = 3
"""Macros that stand alone on lines one after the other."""


def rewrite(texts: Sequence[str], *, along_x: bool = False) -> list[str]:
    """Rewrite a source and what it includes; every line keeps its number.

    ``along_x`` has blocks that are numbered along x and y numbered along x alone, which is the
    same in a grid without a second dimension.
    """
    texts = [each.replace("\r\n", "\n") for each in texts]
    loops = _loop_macros(texts)
    defined = {name for text in texts for name in _DEFINED.findall(text)}
    rewritten = []
    for text in texts:
        new = _DEFINITION.sub(r"\1\2", _SPLIT.sub(r"<<<\1>>>", text))
        new = _expand_loops(new, loops)
        for _ in range(_IN_A_ROW):
            new = _without_statements(new, defined)
        rewritten.append(_NUMBER.sub(_one_axis, new) if along_x else new)
    return rewrite_accessors(rewritten)


def numbers_blocks_along_both(text: str) -> bool:
    """Whether a source numbers blocks along x and y, as in a grid along x."""
    return _NUMBER.search(text) is not None


def _one_axis(match: re.Match[str]) -> str:
    return "(blockIdx.x" + "\n" * match[0].count("\n") + ")"


def _without_statements(text: str, defined: set[str]) -> str:
    def without(match: re.Match[str]) -> str:
        before = syntax.COMMENT.sub("", text[max(0, match.start() - _FAR) : match.start()])
        is_statement = match[2] in defined and before.rstrip().endswith((";", "{", "}"))
        return match[1] if is_statement else match[0]

    return _ALONE.sub(without, text)


def _loop_macros(texts: Iterable[str]) -> Macros:
    # Those whose text begins a loop: their parameters, and that text
    return {
        name: (tuple(map(str.strip, parameters.split(","))), syntax.COMMENT.sub("", head).rstrip())
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
    """What stands in the parentheses that open there, and where they end; nothing in a macro."""
    arguments, depth, begin = [], 0, at + 1
    for place in range(at, min(at + _FAR, len(text))):
        if text[place] in ";\\":
            break
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
