"""All kernels of a capture: where the time goes, and how much of it fixes could save."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.model.diagnosis import KernelDiagnosis, Status
from kernelprof.model.names import brief_labels, cut_middle
from kernelprof.model.numbers import count, share
from kernelprof.report.charts import kernels as areas
from kernelprof.report.charts.drawing import tidy
from kernelprof.report.document import Cell, Chart, Column, Section, Span, plain
from kernelprof.report.documents.diagnosis import (
    kernel_table,
    label_text,
    name_captures,
    total_time,
)
from kernelprof.report.documents.survey import time_of
from kernelprof.report.documents.verdict import time_saved, verdict_cell
from kernelprof.report.figures.measured import clip, finite
from kernelprof.report.private import shown, without_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis

MOST_AREAS: Final = 40
_FILE_WIDTH: Final = 20
"""Characters of a capture's name in a row; the whole name is its tip."""
LEAST_SAVING: Final = 0.01
_RANGE: Final = re.compile(r'"[^":]*:([^":]+)[^"]*"')
"""A range of NVTX as Nsight Compute writes it: its domain and its name."""


def kernel_titles(kernels: Sequence[KernelDiagnosis]) -> list[str]:
    """Unique names of kernels on a page."""
    return [shown(" ".join(filter(None, label))) for label in brief_labels(kernels)]


def kernel_links(kernels: Sequence[KernelDiagnosis], anchor: str) -> list[tuple[Span, ...]]:
    """Unique names of kernels that lead to their cards."""
    return [
        label_text((shown(name), shown(detail)), f"{anchor}-{at}")
        for at, (name, detail) in enumerate(brief_labels(kernels), 1)
    ]


def kernels_section(
    kernels: Sequence[KernelDiagnosis], anchor: str, capture: Capture, *, listed: bool
) -> Section:
    """The kernels by their share of time; ``listed`` adds the table with their verdicts."""
    label = "Share of time by kernel and verdict; the table of kernels has the same data"
    titles = kernel_titles(kernels)
    drawn = tuple(_areas(kernels, titles, anchor, capture))
    chart = (Chart("overview", drawn, label),) if drawn else ()
    links = kernel_links(kernels, anchor) if listed else []
    table = (kernel_table(kernels, links, on_page=True),) if listed else ()
    return Section(
        f"Where the time goes: {count(len(kernels), 'kernel')}",
        (*chart, *table),
        anchor=f"{anchor}s",
        summary=summarize_limits(kernels, titles),
    )


def all_kernels_section(diagnoses: Sequence[Diagnosis]) -> Section:
    """The kernels of several captures in one table, costliest first.

    Anchors are ``capture-1``, ``capture-1-kernel-1`` and so on; shares are of the time of all.
    """
    entries = [
        (kernel, name, each, at)
        for at, each in enumerate(diagnoses, 1)
        for kernel, name in zip(
            each.kernels, kernel_links(each.kernels, f"capture-{at}-kernel"), strict=True
        )
    ]
    entries.sort(key=lambda entry: -total_time(entry[0]))
    whole = sum(total_time(kernel) for kernel, *_ in entries)
    kernels = [
        replace(kernel, share=total_time(kernel) / whole if whole else None)
        for kernel, *_ in entries
    ]
    names = [name for _, name, *_ in entries]
    table = kernel_table(kernels, names, on_page=True)
    files = name_captures(diagnoses)
    rows = []
    for row, (_, _, each, at) in zip(table.rows, entries, strict=True):
        file = Span(cut_middle(files[at - 1], _FILE_WIDTH), target=f"capture-{at}")
        cell = Cell(file, tip=each.origin)
        rows.append((row[0], cell, *row[1:]))
    columns = (table.columns[0], Column("capture", optional=True), *table.columns[1:])
    what = f"{count(len(kernels), 'kernel')} of {count(len(diagnoses), 'capture')}"
    return Section(
        f"Where the time goes: {what}",
        (replace(table, columns=columns, rows=tuple(rows)),),
        anchor="kernels",
        summary=summarize_limits(kernels, [plain(name) for name in names]),
    )


def _areas(
    kernels: Sequence[KernelDiagnosis],
    called: Sequence[str],
    anchor: str,
    capture: Capture | None,
) -> Iterable[areas.TreemapEntry]:
    timed = [
        (at, kernel, name, part)
        for at, (kernel, name) in enumerate(zip(kernels, called, strict=True), 1)
        if (part := share_of(kernel)) is not None
    ]
    groups = {} if capture is None else ranges(capture, kernels)
    for at, kernel, name, part in timed[:MOST_AREAS]:
        verdict = kernel.verdict
        if part > 0:
            yield areas.TreemapEntry(
                name,
                tidy(part),
                areas.kind_of(verdict),
                verdict_cell(verdict),
                tidy(part * time_saved(verdict)),
                f"{anchor}-{at}",
                groups.get(at - 1, ""),
            )
    others = sum(part for *_, part in timed[MOST_AREAS:])
    if others > 0:
        name = f"{len(timed) - MOST_AREAS:,} others"
        yield areas.TreemapEntry(name, tidy(others), areas.OTHERS)


def ranges(capture: Capture, kernels: Sequence[KernelDiagnosis]) -> dict[int, str]:
    """The innermost range of NVTX around each kernel, where there are several of them."""
    result = {}
    for at, kernel in enumerate(kernels):
        cells = [cell for _, cell in capture.launches[kernel.rows[0]].nvtx]
        names = [name for cell in cells for name in _RANGE.findall(cell)]
        if names:
            result[at] = shown(names[-1])
    return result if len(set(result.values())) > 1 else {}


def share_of(kernel: KernelDiagnosis) -> float | None:
    """A kernel's part of the time, 0 to 1."""
    share = finite(kernel.share)
    return None if share is None else clip(share)


def summarize_limits(kernels: Sequence[KernelDiagnosis], titles: Sequence[str]) -> str:
    """The bottleneck of most of the time, in a sentence or two; ``titles`` name the kernels."""
    limited = defaultdict[str, list[float]](list)
    for kernel in kernels:
        if kernel.verdict.status is Status.BOTTLENECK and kernel.verdict.bottleneck is not None:
            limited[kernel.verdict.bottleneck].append(share_of(kernel) or 0.0)
    of_time = time_of(kernels)
    at_limit = sum(kernel.verdict.status is Status.AT_LIMIT for kernel in kernels)
    undecided = sum(kernel.verdict.status is Status.INCONCLUSIVE for kernel in kernels)
    if undecided == len(kernels):
        return "No verdict is conclusive. Run the command shown with each kernel."
    sentences = []
    if limited:
        slug = max(limited, key=lambda each: (sum(limited[each]), len(limited[each])))
        time = sum(limited[slug])
        sentences.append(
            f"{slug} limits {len(limited[slug]):,} of {count(len(kernels), 'kernel')}"
            + (f" ({share(time)} of {of_time})." if time > 0 else ".")
        )
    could = [(share_of(each) or 0.0) * time_saved(each.verdict) for each in kernels]
    if sum(could) >= LEAST_SAVING:
        most = max(range(len(kernels)), key=could.__getitem__)
        brings = f"about {share(could[most])} of the total {of_time.removeprefix('the ')}"
        sentences.append(f"Largest possible saving: {titles[most]}, {brings}.")
        if advice := kernels[most].verdict.advice:
            sentences.append(f"First: {without_homes(advice[0])}")
    if at_limit:
        who = f"{count(at_limit, 'kernel')} {'is' if at_limit == 1 else 'are'}"
        who = "All kernels are" if at_limit == len(kernels) else who
        sentences.append(f"{who} at the limit of the GPU.")
    if undecided:
        time = sum(share_of(e) or 0.0 for e in kernels if e.verdict.status is Status.INCONCLUSIVE)
        share_text = f" ({share(time)} of {of_time})" if time > 0 else ""
        who = count(undecided, "kernel")
        text = f"{who}{share_text} {'is' if undecided == 1 else 'are'} inconclusive."
        # What takes most of the time comes first.
        sentences.insert(0 if time > 0.5 else len(sentences), text)
    return " ".join(sentences)
