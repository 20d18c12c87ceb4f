"""Escape text that CI systems would run as commands in a log.

A kernel's name, a file's name or a line that a program printed may hold one. GitHub's runner takes
``::error::`` where a line begins with it, after any white space, and ``##[error]`` anywhere in a
line; Azure Pipelines ``##vso[...]`` and TeamCity ``##teamcity[...]`` anywhere; GitLab
``section_start:1:...``. A visible backslash is put before the second character of what they look
for, and before ``::``: white space would be trimmed, and characters without a width are passed over
where GitHub's runner and Azure's agent compare.
"""

from __future__ import annotations

import re
from typing import Final

_ANYWHERE: Final = re.compile(r"(?<=#)#(?=[A-Za-z]*\[)|(?<=section)_(?=(?:start|end):[0-9])")
_AT_START: Final = re.compile(r"(?:^|(?<=[\r\n]))(?:\s|\x1b\[[0-9;]*m)*(?=::)")


def escape_log_commands(text: str) -> str:
    """Escape such commands in a text; a JSON document stays the same JSON.

    The text has to begin where a line does.
    """
    if "##" in text or "section_" in text:
        # JSON knows no other way to write these characters, and has none of them outside a string.
        in_json = text.startswith("{")
        text = _ANYWHERE.sub(_escape_in_json if in_json else _escape_in_text, text)
    return _AT_START.sub(_escape_after, text) if "::" in text else text


def _escape_in_text(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _escape_in_json(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _escape_after(match: re.Match[str]) -> str:
    return f"{match[0]}\\"
