"""The command line of ``ncu``: options from its own help text, refusals in its own words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

BEHAVIOUR = Path(__file__).resolve().parents[1] / "captures" / "ncu_behaviour"

_OPTION = re.compile(r"^  (?:-(?P<short>\w) \[ )?--(?P<long>[\w-]+)(?: \])?(?P<value> arg)?")
_NUMBERS = {"launch-count", "launch-skip", "launch-skip-before-match", "max-connections", "port"}
_CHOICES = {
    "cache-control": ("all", "none"),
    "clock-control": ("base", "none", "reset"),
    "filter-mode": ("global", "per-gpu", "per-launch-config"),
    "kernel-name-base": ("function", "demangled", "mangled"),
    "page": ("details", "raw", "source", "session"),
    "print-kernel-base": ("function", "demangled", "mangled"),
    "print-units": ("auto", "base"),
    "replay-mode": ("kernel", "application", "range", "app-range"),
    "target-processes": ("application-only", "all"),
}
_REPEATABLE = {"section", "nvtx-include", "nvtx-exclude", "rule", "kernel-id"}


class RefusedError(Exception):
    """What ``ncu`` says before it ends with exit code 1."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.lines = lines


@dataclass
class Options:
    """What was asked for: option values by long name, and the program with its arguments."""

    values: dict[str, list[str]] = field(default_factory=dict)
    program: list[str] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str, default: str = "") -> str:
        return self.values.get(name, [default])[-1]

    def all(self, name: str) -> list[str]:
        return self.values.get(name, [])

    def number(self, name: str, default: int) -> int:
        return int(self.get(name, str(default)))


def behaviour(name: str) -> str:
    """What the real tool wrote to stdout when it was asked for this."""
    text = (BEHAVIOUR / f"{name}.txt").read_text(encoding="utf-8")
    return text.partition("--- stdout\n")[2].partition("--- stderr\n")[0]


def parse(arguments: list[str]) -> Options:
    """The options up to the program; :class:`RefusedError` where ``ncu`` would not take them."""
    takes_value, short = _known()
    options = Options()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            rest.insert(0, word)
            break
        name, value = _split(word, takes_value, short)
        if takes_value[name]:
            if value is None and not rest:
                raise _refusal(f"the required argument for option '--{name}' is missing")
            _check(name, rest.pop(0) if value is None else value, options)
        else:
            options.values[name] = []
    options.program = rest
    return options


def _known() -> tuple[dict[str, bool], dict[str, str]]:
    found = [m for line in behaviour("help").splitlines() if (m := _OPTION.match(line))]
    takes_value = {match["long"]: match["value"] is not None for match in found}
    return takes_value, {match["short"]: match["long"] for match in found if match["short"]}


def _split(word: str, known: dict[str, bool], short: dict[str, str]) -> tuple[str, str | None]:
    if not word.startswith("--"):
        if word[1] not in short:
            raise _refusal(f"unrecognised option '{word}'")
        return short[word[1]], word[2:] or None
    name, equals, value = word[2:].partition("=")
    if name not in known:
        longer = [each for each in known if each.startswith(name)]
        if len(longer) != 1:
            raise _refusal(f"unrecognised option '--{name}'")
        name = longer[0]
    return name, value if equals else None


def _check(name: str, value: str, options: Options) -> None:
    if name in options.values and name not in _REPEATABLE:
        raise _refusal(f"option '--{name}' cannot be specified more than once")
    if name in _NUMBERS and not value.isdigit():
        raise _refusal(f"the argument ('{value}') for option '--{name}' is invalid")
    if value not in _CHOICES.get(name, (value,)):
        raise _refusal(f"the argument for option '--{name}' is invalid")
    options.values.setdefault(name, []).append(value)


def _refusal(what: str) -> RefusedError:
    return RefusedError(f"==ERROR== {what}. Use --help for further details.")
