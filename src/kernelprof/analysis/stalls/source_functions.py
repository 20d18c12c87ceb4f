"""Functions of a source and the lines that call them, from its text.

What is inlined has the line of the helper, and the report seldom says where it was called. The text
does: comments, strings and preprocessor lines are blanked, brackets are counted, and a function is
what stands before a body at the outermost level. Nothing is said of what does not look like that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_BLANK: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
_BRACKETS: Final = re.compile(r"[{};]")
_TRANSPARENT: Final = re.compile(r"\s*(?:namespace\b|(?:inline\s+)?namespace\b|extern\s*$)")
_ATTRIBUTE: Final = re.compile(
    r"(?:__launch_bounds__|__cluster_dims__|__align__|alignas|__attribute__|__declspec)"
    r"\s*\((?:[^()]|\([^()]*\))*\)"
)
_NAME: Final = re.compile(r"(\w+)\s*\(")


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function of a source: its name, and its first and last line."""

    name: str
    first: int
    last: int


@lru_cache(maxsize=16)
def find_functions(text: str) -> tuple[SourceFunction, ...]:
    """Return the functions of a source in their order."""
    blank = _blanked(text)
    functions: list[SourceFunction] = []
    depth, head, name, first = 0, 0, "", 0
    for bracket in _BRACKETS.finditer(blank):
        at, sign = bracket.start(), bracket[0]
        if sign == "{":
            before = blank[head:at]
            if depth == 0 and _TRANSPARENT.match(before):
                head = bracket.end()
                continue
            if depth == 0:
                declared = _NAME.search(_ATTRIBUTE.sub("", before))
                name = declared[1] if declared and "=" not in before.partition("(")[0] else ""
                first = blank.count("\n", 0, head + len(before) - len(before.lstrip())) + 1
            depth += 1
        elif sign == "}":
            if depth == 1 and name:
                functions.append(SourceFunction(name, first, blank.count("\n", 0, at) + 1))
            depth = max(depth - 1, 0)
            head = bracket.end()
        elif depth == 0:
            head = bracket.end()
    return tuple(functions)


def find_function(text: str, line: int) -> SourceFunction | None:
    """Return the function that a line is in."""
    return next((each for each in find_functions(text) if each.first <= line <= each.last), None)


def find_calls(text: str, helper: SourceFunction) -> tuple[int, ...]:
    """Return the lines that call a function; its own do not count."""
    call = re.compile(rf"\b{re.escape(helper.name)}\b\s*(?:<[^;()]*>)?\s*\(")
    return tuple(
        number
        for number, each in enumerate(_blanked(text).split("\n"), 1)
        if call.search(each) and not helper.first <= number <= helper.last
    )


@lru_cache(maxsize=16)
def _blanked(text: str) -> str:
    return _BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
