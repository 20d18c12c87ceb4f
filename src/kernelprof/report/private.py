"""What a report leaves out of the machine that it was made on: reports are handed around.

Folders of users become ``~``, and a capture is called by its file's name where somebody gave its
whole path. Names of hosts are never shown.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from kernelprof.model.names import printable

_HOME: Final = re.compile(
    r"(?:/home|/Users)/[^/\\\s\"':;,]+"
    r"|(?:(?<![\w.~/-])|(?<=-[A-Z]))/root(?![\w.-])"
    r"|\b[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/)[^/\\\"':;,]+?(?=[/\\\"':;,]|$)"
)
"""Home folders of Linux, macOS and Windows; in JSON a backslash stands twice."""

_IN_EVERY_HOME: Final = ("/home/", "Users", "/root")
"""A home folder has one of these: to look for them is much faster than the expression."""

_MERGED: Final = " + "


def without_homes(text: str) -> str:
    """The text with ``~`` for every home folder in it."""
    return _HOME.sub("~", text) if any(part in text for part in _IN_EVERY_HOME) else text


def shown(text: str) -> str:
    """Text of a capture as a report shows it."""
    return without_homes(printable(text))


def file_name(path: str) -> str:
    """The last part of a path that begins at the root of a disk; any other as it is."""
    posix, windows = PurePosixPath(path), PureWindowsPath(path)
    if posix.is_absolute():
        return posix.name or path
    if windows.is_absolute() and windows.drive:
        return windows.name or path
    return posix.name if ".." in posix.parts and posix.name else path


def shown_origin(origin: str) -> str:
    """Where a capture was read from, without the folders of the machine."""
    return shown(_MERGED.join(file_name(part) for part in origin.split(_MERGED)))
