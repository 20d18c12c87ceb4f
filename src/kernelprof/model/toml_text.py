"""TOML of untrusted files: parsed by :mod:`tomllib`, with limits.

What :mod:`tomllib` takes quadratic time for, or recurses over, is refused before or after it.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import msgspec

LONGEST_LINE: Final = 1 << 16
"""Characters of a line: a list of a hundred kernel names takes a tenth of that."""
MOST_PARTS: Final = 32
"""Parts of a key, and tables and lists in each other; policies and specifications need four."""

_STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|'[^']*+'?")
_LONG_KEY: Final = re.compile(
    rf"(?<![\w\"-])[\w\"-]++(?:[ \t]*+\.[ \t]*+[\w\"-]++){{{MOST_PARTS}}}"
)
"""In a line whose strings are replaced by quotes."""
_AT_LINE: Final = re.compile(r" ?\(at line (\d+), column (\d+)\)")
_MISTAKEN_KEY: Final = re.compile(r" - at (?:`key` in )?`\$\.?(?P<key>[^`]*)`$")
_MOST_WHOLE: Final = 2**63


class TomlError(ValueError):
    """A text that is not TOML, or not within the bounds; ``line`` from 1, where it is known."""

    def __init__(self, what: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(what)
        self.line = line
        self.column = column


def split_mistake(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return what a value is refused for, and its key; empty for the whole document."""
    match = _MISTAKEN_KEY.search(str(error))
    return _MISTAKEN_KEY.sub("", str(error)), "" if match is None else match["key"]


def read_toml(text: str) -> dict[str, Any]:
    """Parse the tables of a text. Raises :class:`TomlError`, and nothing else."""
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > LONGEST_LINE:
            raise TomlError(f"a line has more than {LONGEST_LINE:,} characters", number)
        if line.count(".") >= MOST_PARTS and _LONG_KEY.search(_without_strings(line)):
            raise TomlError(f"a key has more than {MOST_PARTS} parts", number)
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise TomlError(_TOO_DEEP) from None
    except ValueError as error:
        raise _convert_error(error, text) from error
    _check_values(values)
    return values


def _convert_error(error: ValueError, text: str) -> TomlError:
    """Convert an error of :mod:`tomllib`; for numbers of thousands of digits it names no place."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        return TomlError("a number has too many digits")
    message = str(error)
    at = _AT_LINE.search(message)
    if at is None:
        return TomlError(message, text.count("\n") + 1)
    return TomlError(_AT_LINE.sub("", message), int(at[1]), int(at[2]))


def _without_strings(line: str) -> str:
    return _STRING.sub('"', line).partition("#")[0]


_TOO_DEEP: Final = f"tables and lists are nested more than {MOST_PARTS} levels deep"


def _check_values(values: dict[str, Any]) -> None:
    """Refuse what is too deep for whoever walks over it, and what TOML has no room for."""
    level: list[Any] = [values]
    for _ in range(MOST_PARTS):
        inside = []
        for each in level:
            for value in each.values() if isinstance(each, dict) else each:
                if isinstance(value, dict | list):
                    inside.append(value)
                elif isinstance(value, int) and not -_MOST_WHOLE <= value < _MOST_WHOLE:
                    raise TomlError("a number does not fit in 64 bits")
        level = inside
        if not level:
            return
    raise TomlError(_TOO_DEEP)
