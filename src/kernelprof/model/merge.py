"""Several captures as one: of the same launches, or one after the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from kernelprof.errors import InputError
from kernelprof.model.capture import Capture, Launches, MetricColumn, Origin
from kernelprof.model.sampled import PAGE, sum_launches


def merge_metrics(first: Capture, more: Capture) -> Capture:
    """Merge the metrics of ``more`` into ``first``, for the launches that both have.

    Launches are the same where kernel, grid, block and architecture agree, in the order in which
    they come. A value that ``first`` has stays: two runs never agree to the last digit in time.
    A source page, which has no counters, gives the other its instructions.
    Raises :class:`InputError` where ``more`` has none of the launches.
    """
    if more.page == PAGE:
        return _add_code(first, more)
    if first.page == PAGE:
        return _add_code(more, first)
    position = {key: row for row, key in enumerate(_launch_keys(more))}
    rows = np.array([position.get(key, -1) for key in _launch_keys(first)])
    if not (rows >= 0).any():
        raise InputError(
            f"{more.origin} has none of the launches in {first.origin}",
            hint="use a follow-up capture of the same program with the same arguments, or leave "
            "out --merge to diagnose the captures one by one",
        )
    columns = dict(first.columns)
    for name, column in more.columns.items():
        values = np.where(rows >= 0, column.values[rows], np.nan)
        columns[name] = _fill_gaps(columns.get(name), replace(column, values=values))
    text = {
        name: tuple(cells[row] if row >= 0 else None for row in rows)
        for name, cells in more.text.items()
    }
    present = {name for name, column in columns.items() if not np.isnan(column.values).all()}
    return replace(
        _merge_common(first, more),
        columns=columns,
        text={**text, **first.text},
        origin=f"{first.origin} + {more.origin}",
        application=first.application or more.application,
        clock_control=first.clock_control or more.clock_control,
        program=first.program or more.program,
        options=first.options or more.options,
        unavailable=(first.unavailable | more.unavailable) - present,
    )


def _add_code(counters: Capture, page: Capture) -> Capture:
    return replace(
        counters,
        code=sum_launches((*counters.code, *page.code)),
        origin=f"{counters.origin} + {page.origin}",
    )


def join(first: Capture, more: Capture) -> Capture:
    """Concatenate the launches of two captures; NaN where one side lacks a metric.

    Raises :class:`InputError` where a metric has another unit on the other side.
    """
    launches = Launches.from_sequence([*first.launches, *more.launches])
    columns = {}
    for name in dict.fromkeys((*first.columns, *more.columns)):
        sides = [each.columns.get(name) for each in (first, more)]
        column = next(each for each in sides if each is not None)
        if any(each is not None and each.unit != column.unit for each in sides):
            raise InputError(
                f"{name} has a different unit in {more.origin} than in {first.origin}",
                hint="diagnose the captures one by one",
            )
        values_of = [
            np.full(len(capture), np.nan) if each is None else each.values
            for capture, each in zip((first, more), sides, strict=True)
        ]
        columns[name] = replace(column, values=np.concatenate(values_of))
    text = {
        name: (
            *first.text.get(name, (None,) * len(first)),
            *more.text.get(name, (None,) * len(more)),
        )
        for name in dict.fromkeys((*first.text, *more.text))
    }
    return replace(
        _merge_common(first, more),
        launches=launches,
        columns=columns,
        text=text,
        origin=f"{first.origin}, {more.origin}",
        application=first.application if first.application == more.application else None,
        program=first.program if first.program == more.program else (),
        options=first.options if first.options == more.options else (),
        unavailable=first.unavailable & more.unavailable,
    )


def _merge_common(first: Capture, more: Capture) -> Capture:
    return Capture(
        launches=first.launches,
        columns={},
        page=first.page,
        clock_control=first.clock_control if first.clock_control == more.clock_control else None,
        warnings=(*first.warnings, *more.warnings),
        damage=(*first.damage, *more.damage),
        code=sum_launches((*first.code, *more.code)),
    )


def _fill_gaps(have: MetricColumn | None, more: MetricColumn) -> MetricColumn:
    if have is None:
        return more
    if have.source is Origin.REPORTED and more.source is not Origin.REPORTED:
        return replace(more, values=np.where(np.isnan(more.values), have.values, more.values))
    return replace(have, values=np.where(np.isnan(have.values), more.values, have.values))


def _launch_keys(capture: Capture) -> list[tuple[object, ...]]:
    """Return keys that launches share over captures, with the number of equal ones before."""
    seen: Counter[tuple[object, ...]] = Counter()
    keys: list[tuple[object, ...]] = []
    for each in capture.launches:
        same = (each.kernel, each.grid, each.block, each.compute_capability)
        keys.append((*same, seen[same]))
        seen[same] += 1
    return keys
