"""Which options of ``nvcc`` a launch specification may hold: those that change code, not files.

A specification may be a stranger's. Other options choose what ``nvcc`` runs, reads and writes, so
what is not listed here is refused. ``nvcc`` hands many values to a shell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_ALONE_NAMES = (
    "use_fast_math restrict extra-device-vectorization extended-lambda expt-extended-lambda "
    "expt-relaxed-constexpr lineinfo generate-line-info G device-debug g debug w disable-warnings "
    "res-usage resource-usage noeh no-exceptions nohdinitlist no-host-device-initializer-list "
    "nohdmoveforward no-host-device-move-forward src-in-ptx source-in-ptx no-compress m64 "
    "allow-unsupported-compiler err-no display-error-number no-err-no no-display-error-number "
    "Wno-deprecated-gpu-targets Wno-deprecated-declarations Wdefault-stream-launch "
    "Wmissing-launch-bounds Wext-lambda-captures-this Wreorder"
)
_WITH_VALUE_NAMES = (
    "optimize Ofc Ofast-compile maxrregcount ftz prec-div prec-sqrt fmad dopt default-stream "
    "diag-error diag-suppress diag-warn ftemplate-backtrace-limit ftemplate-depth std Werror "
    "define-macro undefine-macro include-path isystem system-include include pre-include "
    "Xptxas ptxas-options split-compile threads brief-diag brief-diagnostics frandom-seed jtd "
    "jump-table-density opt-info optimization-info device-stack-protector"
)
_ALONE = frozenset(_ALONE_NAMES.split())
_WITH_VALUE = frozenset(_WITH_VALUE_NAMES.split())
_LETTERS = "DUIO"
"""Options whose value follows at once or after a space."""

_ARCHITECTURE = frozenset(("arch", "gpu-architecture", "gencode", "generate-code", "code"))
_PTXAS = re.compile(
    r"-(v|w|O[0-4]|Werror|-verbose|-disable-warnings|-warning-as-error|-opt-level=[0-4]"
    r"|-warn-on-[a-z-]+|-?warn-[a-z-]+|-?(dlcm|dscm|def-load-cache|def-store-cache)=[a-z]+"
    r"|-?(fmad|allow-expensive-optimizations|disable-optimizer-constants)(=(true|false))?"
    r"|-?(maxrregcount|register-usage-level)=[0-9]+)"
)
_FOR_SHELLS = re.compile(r"[$`\\\x00-\x1f\x7f]")
_FOLDERS = re.compile(r"^(--include-path=|--system-include=|-isystem=|-I[= ]?)(?! )(.+)$")


def shell_characters(value: str) -> str | None:
    """The first character that a shell would read as more than text, ``None`` without one."""
    found = _FOR_SHELLS.search(value)
    return found[0] if found else None


def refusal(flag: str) -> tuple[str, str] | None:
    """What is wrong with a flag, and what to do; ``None`` for one that may be used."""
    character = shell_characters(flag)
    if character is not None:
        return (
            f"the flag {flag!r} holds {character!r}, which a shell takes for more than text",
            "write it without $, `, \\ and control characters",
        )
    name, joined, value = _split(flag)
    plain = name in _ALONE and not joined
    if plain or (value and (name in _LETTERS or (name in _WITH_VALUE and joined))):
        return _ptxas(flag, value) if name in {"Xptxas", "ptxas-options"} else None
    if name in _ARCHITECTURE or name.startswith(("gpu-", "arch", "gencode")):
        return (
            f"the flag {flag!r} chooses the architecture, which is that of the device",
            "leave it out",
        )
    if name.partition(" ")[0] in _WITH_VALUE:
        return (
            f"the flag {flag!r} has no value that nvcc can read",
            f'join them: "{flag.partition(" ")[0].partition("=")[0]}=VALUE"',
        )
    return (
        f"the flag {flag!r} is none that a specification may give nvcc",
        "those that optimise, define, include and warn may be used "
        "(docs/launch-specification.md); others choose what nvcc runs, reads or writes",
    )


def _ptxas(flag: str, value: str) -> tuple[str, str] | None:
    wrong = next((each for each in value.split(",") if not _PTXAS.fullmatch(each)), None)
    if wrong is None:
        return None
    return (
        f"the flag {flag!r} gives ptxas {wrong!r}, which a specification may not",
        'known are -v, -O0 to -O3, -dlcm=ca and the like: "-Xptxas=-v,-dlcm=cg"',
    )


def with_folders(options: Sequence[str], folder: Path) -> list[str]:
    """The options with relative folders of includes in ``folder``: ``nvcc`` runs elsewhere."""

    def absolute(found: re.Match[str]) -> str:
        return found[1].rstrip() + ",".join(str(folder / each) for each in found[2].split(","))

    return [_FOLDERS.sub(absolute, option) for option in options]


def _split(flag: str) -> tuple[str, str, str]:
    """The option's name without dashes, what joins it to its value, and the value."""
    text = flag.removeprefix("-").removeprefix("-")
    letter = text[:1]
    single = not flag.startswith("--") and letter and letter in _LETTERS
    if single and text.partition("=")[0] not in (_ALONE | _WITH_VALUE):
        return letter, "", text[1:].removeprefix("=").strip()
    name, joined, value = text.partition("=")
    return name, joined, value
