"""What is rewritten in a source before it is read, so that more of it can be understood.

Macros that stand for the head of a loop (``CUDA_KERNEL_LOOP(i, n) { ... }``) or for a launch are
calls to the grammar: what is in them would not be seen. Nor would be what follows a macro that is a
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

    Macro = tuple[tuple[str, ...], str]
    """Its parameters, and its text."""
    Macros = Mapping[str, Macro]

_CONTINUED: Final = re.compile(r"(?<![ \t])(?:[ \t]*\\\n)+[ \t]*")
_MACRO: Final = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([\w, \t]*)\)[ \t]+(.*)$", re.MULTILINE
)
_LOOP: Final = re.compile(r"for[ \t]*\(")
_LAUNCH: Final = re.compile(r"(?<!<)<<<(?!<).*>>>")
_DEVICE: Final = re.compile(r"__(?:global|device|constant|managed)__")
_CALLED: Final = re.compile(r"\b[A-Za-z_]\w*(?=[ \t]*\()")
_AS_TEXT: Final = re.compile(r"(?<!#)#[ \t]*(\w+)")
_JOINS: Final = re.compile(r"\s*##\s*")
"""Operators of the preprocessor in a macro's text."""
_PRODUCT: Final = r"(?:blockIdx\.y\s*\*\s*gridDim\.x|gridDim\.x\s*\*\s*blockIdx\.y)"
_NUMBER: Final = re.compile(
    rf"\(\s*(?:blockIdx\.x\s*\+\s*{_PRODUCT}|{_PRODUCT}\s*\+\s*blockIdx\.x)\s*\)"
)
"""The number of a block that counts along x and y."""
_DEFINITION: Final = re.compile(
    r"^([ \t]*#[ \t]*define\b(?:[^\n\"'/]|/(?![/*])|/\*(?:[^*\n]|\*(?!/))*\*/)*)//.*?(\\?)$",
    re.MULTILINE,
)
"""A macro's text with a comment, which the grammar takes for a part of it."""
_SPLIT: Final = re.compile(r"(?<!<)<[ \t]*<[ \t]*<(?!<)([^;{}]{0,400}?)>[ \t]*>[ \t]*>")
"""A launch as formatters for C++ write it: ``<< <8, 64 >> >``, ``< < < 8, 64 >>>``."""
_DEFINED: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])", re.MULTILINE)
_ALONE: Final = re.compile(r"^([ \t]+)([A-Z][A-Z0-9_]*)[ \t]*$(?!\s*[,;)}\]])", re.MULTILINE)
"""A macro that stands alone on a line, indented as a statement is."""
_FAR: Final = 2000
"""Characters before a macro in which a statement ends, and that its arguments have at most."""
_GRID_STRIDE: Final = (
    "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)"
)
_OF_TORCH: Final = {"CUDA_KERNEL_LOOP": [(("i", "n"), _GRID_STRIDE)]}
"""Macros that begin a loop, of PyTorch's headers."""
_OWN_LOOP: Final = re.compile(r"#[ \t]*define[ \t]+CUDA_KERNEL_LOOP\b")
_NESTED: Final = 3
"""Macros for launches, one in the other."""
_LONGEST: Final = 8000
"""Characters of such a macro's text."""
_MOST_UNREAD: Final = 1000
"""Uses whose arguments do not end."""
_MOST_ADDED: Final = 1 << 18
"""Characters that they are expanded to each time."""
_IN_A_ROW: Final = 3
"""Macros that stand alone on lines one after the other."""


def rewrite(texts: Sequence[str], *, along_x: bool = False) -> list[str]:
    """Rewrite a source and what it includes; every line keeps its number.

    ``along_x`` has blocks that are numbered along x and y numbered along x alone, which is the
    same in a grid without a second dimension.
    """
    texts = [_SPLIT.sub(r"<<<\1>>>", each.replace("\r\n", "\n")) for each in texts]
    definitions = _definitions(texts)
    of_torch = {} if any(map(_OWN_LOOP.search, texts)) else _OF_TORCH
    loops = _loop_macros({**of_torch, **definitions})
    launches = _launch_macros(definitions)
    defined = {name for text in texts for name in _DEFINED.findall(text)}
    rewritten = []
    for text in texts:
        new = _DEFINITION.sub(r"\1\2", text)
        new = _expand(new, loops, begin=r"^[ \t]*")
        for _ in range(_NESTED):
            new = _expand(new, launches)
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


def _definitions(texts: Iterable[str]) -> dict[str, list[Macro]]:
    # The different ones of each macro with parameters
    definitions: dict[str, dict[Macro, None]] = {}
    for text in texts:
        for name, parameters, body in _MACRO.findall(_CONTINUED.sub(" ", text)):
            plain = syntax.COMMENT.sub("", body).rstrip() if len(body) <= _LONGEST else ""
            macro = tuple(map(str.strip, parameters.split(","))), plain
            definitions.setdefault(name, {})[macro] = None
    return {name: list(each) for name, each in definitions.items()}


def _loop_macros(definitions: Mapping[str, Sequence[Macro]]) -> Macros:
    macros = {name: each[-1] for name, each in definitions.items()}
    return {name: macro for name, macro in macros.items() if _LOOP.match(macro[1])}


def _launch_macros(definitions: Mapping[str, Sequence[Macro]]) -> Macros:
    # With a launch in their text, or such a macro. Which of two definitions holds is known to the
    # preprocessor alone, and decides the block.
    macros = {name: each[0] for name, each in definitions.items() if len(each) == 1}
    launches = {name: macro for name, macro in macros.items() if _LAUNCH.search(macro[1])}
    for _ in range(_NESTED - 1 if launches else 0):
        inner = re.compile(rf"\b(?:{'|'.join(map(re.escape, launches))})\b")
        launches |= {name: macro for name, macro in macros.items() if inner.search(macro[1])}
    # What else they consist of need not end with a semicolon.
    called = {name for _, text in launches.values() for name in _CALLED.findall(text)}
    statements = {name: macros[name] for name in called & macros.keys()}
    return launches | {name: each for name, each in statements.items() if ";" in each[1]}


def without_launches(text: str) -> str:
    """Leave out functions of the host that macros define: calls at the beginning of a line."""
    definitions = _definitions([_SPLIT.sub(r"<<<\1>>>", text)])
    device = {name for name, each in definitions.items() if _DEVICE.search(str(each))}
    for _ in range(_NESTED):
        inner = {name: _CALLED.findall(str(each)) for name, each in definitions.items()}
        device |= {name for name, each in inner.items() if not device.isdisjoint(each)}
    launches = _launch_macros(definitions)
    nothing = {name: (launches[name][0], "") for name in launches.keys() - device}
    return _expand(text, nothing, begin="^")


def _expand(text: str, macros: Macros, *, begin: str = r"\b") -> str:
    if not macros:
        return text
    names = "|".join(map(re.escape, macros))
    used = re.compile(rf"(#[ \t]*define[ \t]+)?{begin}({names})[ \t]*(?=\()", re.MULTILINE)
    written, done, added, unread = [], 0, 0, 0
    for match in used.finditer(text):
        arguments, end = _arguments(text, match.end())
        unread += not arguments
        if unread > _MOST_UNREAD:
            break
        parameters, body = macros[match[2]]
        if match[1] or match.start() < done or len(arguments) != len(parameters):
            continue
        body = _AS_TEXT.sub(r'"\1"', body)
        body = syntax.replace_names(body, dict(zip(parameters, arguments, strict=True)))
        body = _JOINS.sub("", body)
        added += len(body)
        if added > _MOST_ADDED:
            break
        lines = "\n" * text.count("\n", match.start(), end)
        written += [text[done : match.start()], body, lines]
        done = end
    return "".join((*written, text[done:]))


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
