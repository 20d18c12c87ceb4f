"""Which options of ``nvcc`` a launch specification may hold: those that change code, not files.

A specification may be a stranger's, and ``nvcc`` runs each of its steps by a shell, with what it
was given between double quotes. So an option is one of full patterns of its name and its value,
which let no character through that a shell reads. Macros and folders may need such characters;
:func:`divide_options` keeps them for a file of options, and ``nvcc`` never gets them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
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
_ALONE = frozenset(_ALONE_NAMES.split())
_SWITCH, _NUMBER, _LEVEL = "true|false", "[0-9]{1,9}", "0|min|mid|max"
_NUMBERS = f"{_NUMBER}(,{_NUMBER})*"
_WORDS = "[a-z][a-z-]*(,[a-z][a-z-]*)*"
_TEXT = r"[^$`\\\x00-\x1f\x7f]"
_MACRO = r"[A-Za-z_][A-Za-z0-9_]*"
_DEFINE = rf"{_MACRO}(\([A-Za-z0-9_, .]*\))?(={_TEXT}*)?"
_PATH = r'[^$`\\"\x00-\x1f\x7f]+'
_VALUES: Final[dict[str, tuple[str, str]]] = {
    **dict.fromkeys(("O", "optimize"), ("[0-4]", "3")),
    **dict.fromkeys(("Ofc", "Ofast-compile"), (_LEVEL, "mid")),
    **dict.fromkeys(
        ("ftz", "prec-div", "prec-sqrt", "fmad", "brief-diag", "brief-diagnostics"),
        (_SWITCH, "true"),
    ),
    "device-stack-protector": (_SWITCH, "true"),
    **dict.fromkeys(
        ("maxrregcount", "ftemplate-backtrace-limit", "ftemplate-depth"), (_NUMBER, "64")
    ),
    **dict.fromkeys(("split-compile", "threads", "jtd", "jump-table-density"), (_NUMBER, "2")),
    **dict.fromkeys(("diag-error", "diag-suppress", "diag-warn"), (_NUMBERS, "177,20012")),
    "dopt": ("on", "on"),
    "default-stream": ("legacy|null|per-thread", "per-thread"),
    "std": (r"(c|gnu)\+\+[0-9][0-9a-z]", "c++17"),
    "Werror": (_WORDS, "all-warnings"),
    **dict.fromkeys(("opt-info", "optimization-info"), (_WORDS, "inline")),
    "frandom-seed": ("[A-Za-z0-9_]{1,64}", "7"),
    **dict.fromkeys(("D", "define-macro"), (_DEFINE, "TILE=16")),
    **dict.fromkeys(("U", "undefine-macro"), (_MACRO, "TILE")),
    **dict.fromkeys(("I", "include-path", "isystem", "system-include"), (_PATH, "include")),
    **dict.fromkeys(("include", "pre-include"), (_PATH, "types.cuh")),
    **dict.fromkeys(("Xptxas", "ptxas-options"), (f"{_TEXT}+", "-v")),
}
"""Each option that has a value: the whole value as a pattern, and one for example.

The names and values are those of ``nvcc --help`` of CUDA 13.5.
"""
_WITH_VALUE = ("-I", "-D", "-U", "-L", "-l", "-isystem", "-include")
_LINKED = re.compile(r"[A-Za-z0-9_./+-]+")
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
_LIST_ENTRY = re.compile(r'(?:"[^"]*"|\([^()]*\)|[^,])+')
"""What stands between the commas of a list; those between quotes or parentheses part nothing."""
_MACROS = frozenset(("D", "define-macro", "U", "undefine-macro"))
_SYSTEM = frozenset(("isystem", "system-include"))
_PATHS = frozenset(("I", "include-path")) | _SYSTEM
_BEFORE = frozenset(("include", "pre-include"))
_PTXAS_NAMES = frozenset(("Xptxas", "ptxas-options"))


@dataclass(frozen=True, slots=True)
class DividedOptions:
    """Options by the way in which the compilers get them."""

    plain: tuple[str, ...]
    """On the command line of ``nvcc``: letters, digits and ``+ , . _ = -`` only."""
    macros: tuple[str, ...]
    """``-DNAME=VALUE`` and ``-UNAME``, for the host compiler, which reads the source first."""
    folders: tuple[str, ...]
    system: tuple[str, ...]
    before: tuple[str, ...]


def shell_characters(value: str) -> str | None:
    """Return the first character that a shell would interpret, or ``None``."""
    match = _FOR_SHELLS.search(value)
    return match[0] if match else None


def explain_refusal(flag: str) -> tuple[str, str] | None:
    """Return what is wrong with a flag and what to do, or ``None``."""
    character = shell_characters(flag)
    if character is not None:
        return (
            f"the flag {flag!r} contains {character!r}, which a shell interprets",
            "write it without $, `, \\ and control characters",
        )
    name, join_values, value = _split(flag)
    if name in _ALONE and not join_values:
        return None
    if value and (name in _LETTERS or (name in _VALUES and join_values)):
        return _wrong_value(flag, name, value)
    if name in _ARCHITECTURE or name.startswith(("gpu-", "arch", "gencode")):
        return (
            f"the flag {flag!r} chooses the architecture, which kernelprof sets itself",
            "leave it out",
        )
    if name.partition(" ")[0] in _VALUES:
        return (
            f"the flag {flag!r} needs a value after '='",
            f'join option and value: "{flag.partition(" ")[0].partition("=")[0]}=VALUE"',
        )
    return (
        f"the flag {flag!r} is not allowed in a specification",
        "only flags for language, optimization, macros, includes and warnings are allowed "
        "(docs/launch-specification.md)",
    )


def _wrong_value(flag: str, name: str, value: str) -> tuple[str, str] | None:
    pattern, example = _VALUES[name]
    if name in _PTXAS_NAMES:
        return _ptxas(flag, value)
    wrong = next(
        (each for each in _split_list(name, value) if not re.fullmatch(pattern, each)), None
    )
    if wrong is None:
        return None
    given = flag.removesuffix(value)
    if name in _MACROS:
        return (
            f"the flag {flag!r} contains {wrong!r}, which is not a macro",
            f'for example "{given}{example}"; a value with a comma goes under [compile] defines',
        )
    return (
        f"the flag {flag!r} cannot have the value {wrong!r}",
        f'for example "{given}{example}"',
    )


def _ptxas(flag: str, value: str) -> tuple[str, str] | None:
    wrong = next((each for each in value.split(",") if not _PTXAS.fullmatch(each)), None)
    if wrong is None:
        return None
    return (
        f"the flag {flag!r} passes {wrong!r} to ptxas, which is not allowed",
        'allowed: -v, -O0 to -O3, -dlcm=ca and similar; for example "-Xptxas=-v,-dlcm=cg"',
    )


def split_options(flags: Iterable[str]) -> list[str]:
    """Split flags into one macro, folder or file each: ``-DX=1,Y`` into ``-DX=1`` and ``-DY``."""
    separated = []
    for flag in map(str.rstrip, flags):
        name, _, value = _split(flag)
        before = flag.removesuffix(value)
        separated += [before + each for each in _split_list(name, value)] if value else [flag]
    return separated


def resolve_folders(options: Sequence[str], folder: Path) -> list[str]:
    """Make relative include folders absolute from ``folder``: ``nvcc`` runs elsewhere."""

    def absolute(option_match: re.Match[str]) -> str:
        return option_match[1].rstrip() + ",".join(
            str(folder / each) for each in option_match[2].split(",")
        )

    return [_FOLDERS.sub(absolute, option) for option in options]


def divide_options(options: Iterable[str]) -> DividedOptions:
    """Divide options by how the compilers get them.

    Each has one value (:func:`split_options`). Raises :class:`InputError` for one that is not
    allowed.
    """
    divided: tuple[list[str], ...] = ([], [], [], [], [])
    plain, macros, folders, system, before = divided
    for option in options:
        name, join_values, value = _split(option)
        if name in _MACROS and re.fullmatch(_VALUES[name][0], value):
            macros.append(f"-{name[0].upper()}{value}")
        elif name in _PATHS and value and (join_values or name in _LETTERS):
            # Made absolute with the folder of the source, which may be called anything.
            (system if name in _SYSTEM else folders).append(value)
        elif (wrong := explain_refusal(option)) is not None:
            raise InputError(wrong[0], hint=wrong[1])
        elif name in _BEFORE:
            before.append(value)
        else:
            plain.append(f"-{name}{value}" if name in _LETTERS else option)
    return DividedOptions(*map(tuple, divided))


def _split_list(name: str, value: str) -> list[str]:
    """Split a list at commas as ``nvcc`` does, but not within a string."""
    if name in _MACROS:
        return _LIST_ENTRY.findall(value)
    return value.split(",") if name in _PATHS | _BEFORE else [value]


def _split(flag: str) -> tuple[str, str, str]:
    """Split an option into its name without dashes, the separator, and its value."""
    text = flag.removeprefix("-").removeprefix("-")
    letter = text[:1]
    single = not flag.startswith("--") and letter and letter in _LETTERS
    if single and text.partition("=")[0] not in _ALONE | _VALUES.keys() - set(_LETTERS):
        return letter, "", text[1:].removeprefix("=").strip()
    name, join_values, value = text.partition("=")
    return name, join_values, value


def join_values(words: Sequence[str]) -> list[str]:
    """Join options with their values: ``-I include`` becomes ``-Iinclude``."""
    words_joined: list[str] = []
    for word in words:
        if words_joined and words_joined[-1] in _WITH_VALUE:
            words_joined[-1] += word
        else:
            words_joined.append(word)
    return words_joined


def divide_linker_options(options: Iterable[str], folder: Path) -> tuple[list[str], list[str]]:
    """Divide options into those of the linker, with absolute folders, and the others.

    Raises :class:`InputError` for a library or folder that a shell would interpret.
    """
    linker, others = [], []
    for option in options:
        if not option.startswith(("-l", "-L")) or option == "-lineinfo":
            others.append(option)
            continue
        value = option[2:]
        text = value if option.startswith("-l") else str((folder / value).resolve())
        if not _LINKED.fullmatch(text):
            raise InputError(
                f"{option!r} has a library or folder name that is not allowed",
                hint="use only letters, digits and / . _ + -, or build the program with --build",
            )
        linker.append(option[:2] + text)
    return linker, others
