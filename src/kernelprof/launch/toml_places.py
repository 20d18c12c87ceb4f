"""Where in a TOML text each key stands, which ``tomllib`` does not say.

The text has been read by ``tomllib`` before, so it is known to be well-formed: this walk keeps
places and comments only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Path = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]+")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


@dataclass(slots=True)
class Places:
    """Line numbers, from 1: of every key by its path, and of every comment."""

    lines: dict[Path, int] = field(default_factory=dict)
    comments: list[tuple[int, str]] = field(default_factory=list)

    def line(self, path: Path) -> int:
        """The line of that key, or of the nearest table around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def places(text: str) -> Places:
    """Find all keys and comments of a well-formed TOML text."""
    return _Walk(text.replace("\r\n", "\n")).walk()


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found = Places()
        self.counts: dict[Path, int] = {}

    def walk(self) -> Places:
        table: Path = ()
        while True:
            self._skip(newlines=True)
            if self.at >= len(self.text):
                return self.found
            if self._peek("[["):
                table = self._array_header()
            elif self._peek("["):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        line = self._line()
        self.at += 1
        path = self._resolve(self._key())
        self.at += 1
        self.found.lines[path] = line
        return path

    def _array_header(self) -> Path:
        line = self._line()
        self.at += 2
        keys = self._key()
        self.at += 2
        array = (*self._resolve(keys[:-1]), keys[-1])
        index = self.counts.get(array, 0)
        self.counts[array] = index + 1
        self.found.lines.setdefault(array, line)
        self.found.lines[(*array, index)] = line
        return (*array, index)

    def _resolve(self, keys: tuple[str, ...]) -> Path:
        """A table's path, where a name of an array of tables means its last table."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = table
        for key in self._key():
            path = (*path, key)
            self.found.lines.setdefault(path, line)
        self._skip()
        self.at += 1  # the equals sign
        self._skip()
        self._value(path)

    def _key(self) -> tuple[str, ...]:
        keys = []
        while True:
            self._skip()
            if self.text[self.at] in "\"'":
                keys.append(self._string())
            else:
                bare = _BARE.match(self.text, self.at)
                if bare is None:
                    self.at += 1
                    return tuple(keys)
                self.at = bare.end()
                keys.append(bare.group())
            self._skip()
            if not self._peek("."):
                return tuple(keys)
            self.at += 1

    def _value(self, path: Path) -> None:
        if self._peek("["):
            self._array(path)
        elif self._peek("{"):
            self._inline_table(path)
        elif self.text[self.at : self.at + 1] in {'"', "'"}:
            self._string()
        else:
            scalar = _SCALAR.match(self.text, self.at)
            self.at = scalar.end() if scalar else self.at + 1

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while True:
            self._skip(newlines=True, commas=True)
            if self.at >= len(self.text) or self._peek("]"):
                self.at += 1
                return
            self.found.lines[(*path, index)] = self._line()
            self._value((*path, index))
            index += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        while True:
            self._skip(newlines=True, commas=True)
            if self.at >= len(self.text) or self._peek("}"):
                self.at += 1
                return
            self._pair(path)

    def _string(self) -> str:
        quote = self.text[self.at]
        if self._peek(quote * 3):
            end = self._string_end(quote * 3)
            while self.text[end + 3 : end + 4] == quote:
                end += 1
            self.at = end + 3
            return ""
        start = self.at + 1
        end = self._string_end(quote)
        self.at = end + 1
        raw = self.text[start:end]
        return raw if quote == "'" else re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), raw)

    def _string_end(self, quotes: str) -> int:
        at = self.at + len(quotes)
        while not self.text.startswith(quotes, at) and at < len(self.text):
            at += 2 if self.text[at] == "\\" and quotes[0] == '"' else 1
        return at

    def _skip(self, *, newlines: bool = False, commas: bool = False) -> None:
        skipped = " \t" + ("\n" if newlines else "") + ("," if commas else "")
        while self.at < len(self.text):
            if self.text[self.at] in skipped:
                self.at += 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                self.found.comments.append((self._line(), self.text[self.at : end]))
                self.at = end
            else:
                return

    def _peek(self, expected: str) -> bool:
        return self.text.startswith(expected, self.at)

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1
