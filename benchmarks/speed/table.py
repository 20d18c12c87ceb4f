"""An outcome for people, in Markdown, and for programs, in JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from benchmarks.speed.outcome import Figure, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.speed.outcome import Measured, Outcome, Quantity, Target

NOTHING: Final = "-"

_MET: Final = {True: "met", False: "**missed**", None: "not measured"}


def markdown_facts(facts: Mapping[str, str]) -> str:
    """The machine, above all tables."""
    return "".join(f"- {name}: {value}\n" for name, value in facts.items())


def markdown(outcome: Outcome) -> str:
    """A heading, what was measured, who was not there, and the targets."""
    parts = [f"## {outcome.name}: {outcome.title}\n", _figures(outcome)]
    parts += [
        f"{each.name}: {NOTHING}, because {each.absent}.\n"
        for each in outcome.measured
        if each.absent
    ]
    if outcome.targets:
        parts.append(_targets(outcome))
    return "\n".join(parts)


def as_json(outcome: Outcome) -> dict[str, object]:
    """The same with every run."""
    return {
        "title": outcome.title,
        "file_bytes": outcome.file_bytes,
        "contestants": {
            each.name: {
                "version": each.version,
                "absent": each.absent or None,
                "runs": [asdict(run) for run in each.runs],
                **{figure.value: each.figure(figure) for figure in Figure},
            }
            for each in outcome.measured
        },
        "targets": [
            {
                "what": target.what,
                "limit": target.limit,
                "at_least": target.at_least,
                "unit": target.unit.value,
                "value": outcome.reached(target),
                "met": outcome.met(target),
            }
            for target in outcome.targets
        ],
    }


def _figures(outcome: Outcome) -> str:
    calls = any(each.figure(Figure.CALL) is not None for each in outcome.measured)
    head = ["", "version", "process", *(["call"] if calls else [])]
    head += [f"x of {_said(base)}" for base in outcome.bases]
    head += ["peak", *(["peak / file"] if outcome.file_bytes else []), "runs"]
    return _table(head, (_figures_of(each, outcome, calls) for each in outcome.measured))


def _figures_of(each: Measured, outcome: Outcome, calls: bool) -> list[str]:
    peak = each.figure(Figure.PEAK)
    cells = [each.name, each.version or NOTHING, _seconds(each.figure(Figure.PROCESS))]
    if calls:
        cells.append(_seconds(each.figure(Figure.CALL)))
    cells += [_ratio(outcome.against(each, base)) for base in outcome.bases]
    cells.append(_bytes(peak))
    if outcome.file_bytes:
        cells.append(_ratio(None if peak is None else peak / outcome.file_bytes))
    return [*cells, str(len(each.runs)) if each.runs else NOTHING]


def _targets(outcome: Outcome) -> str:
    return _table(
        ["target", "limit", "measured", ""],
        (
            [
                target.what,
                f"{'≥' if target.at_least else '≤'} {_value(target, target.limit)}",
                _value(target, outcome.reached(target)),
                _MET[outcome.met(target)],
            ]
            for target in outcome.targets
        ),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _said(base: Quantity) -> str:
    name = base.who.partition("(")[0]
    return f"the call of {name}" if base.figure is Figure.CALL else name


def _value(target: Target, value: float | None) -> str:
    return {Unit.RATIO: _ratio, Unit.SECONDS: _seconds, Unit.BYTES: _bytes}[target.unit](value)


def _ratio(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}x"


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f} s"


def _bytes(value: float | None) -> str:
    return NOTHING if value is None else f"{value / 1e6:,.0f} MB"
