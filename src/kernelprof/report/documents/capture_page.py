"""The page of a capture: its kernels by time, and a card for each with all that is known of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelprof.model.capture import shares
from kernelprof.model.diagnosis import Status
from kernelprof.model.names import labels
from kernelprof.model.numbers import count, quantity, share
from kernelprof.report.charts import overview
from kernelprof.report.document import (
    Cell,
    Chart,
    Column,
    Document,
    Note,
    Section,
    Span,
    Table,
)
from kernelprof.report.documents import TONES, kernel_card, provenance
from kernelprof.report.documents.diagnosis import device, gain_cell, verdict_cell
from kernelprof.report.documents.metrics import MOST_WITH_ALL, MetricTables
from kernelprof.report.figures.measured import Measured, clip, finite
from kernelprof.report.private import shown, shown_origin, without_homes
from kernelprof.report.writers import json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Confidence, Diagnosis, KernelDiagnosis
    from kernelprof.model.manifest import Manifest
    from kernelprof.report.document import Block
    from kernelprof.sources.source import Contents

_COLUMNS = (
    Column("Kernel"),
    Column("Verdict"),
    Column("Share", number=True),
    Column("Time", number=True),
    Column("Launches", number=True),
    Column("Confidence"),
    Column("Gain", number=True),
)
_CONFIDENCE = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known beside the counters of a capture.

    ``hot_lines`` are, by kernel, line numbers of the source with their share of that kernel's
    samples, 0 to 1; ``None`` where no samples were taken.
    """

    manifest: Manifest | None = None
    source_text: str | None = None
    hot_lines: Mapping[str, Mapping[int, float]] | None = None


def beside(contents: Contents) -> Beside:
    """What a page shows of a capture directory."""
    manifest, hot = contents.manifest, None
    if contents.lines is not None and manifest is not None and manifest.source is not None:
        hot = shares(contents.lines, manifest.source.path)
    return Beside(manifest, contents.source_text, hot)


def document(capture: Capture, diagnosis: Diagnosis, beside: Beside | None = None) -> Document:
    """Everything that is known of a capture."""
    beside = beside or Beside()
    diagnosis = replace(diagnosis, origin=shown_origin(diagnosis.origin))
    kernels = diagnosis.kernels
    names = _names(kernels)
    blocks: list[Block] = [Note(Span(shown(each)), warning=True) for each in diagnosis.warnings]
    if len(kernels) > 1:
        blocks.append(_overview(kernels, names))
    blocks += cards(capture, diagnosis, beside)
    known = {"all_metrics": len(kernels) <= MOST_WITH_ALL}
    blocks.append(provenance.section(capture, diagnosis, beside.manifest, **known))
    devices = dict.fromkeys(device(kernel) for kernel in kernels)
    title = names[0] if len(kernels) == 1 else count(len(kernels), "kernel")
    return Document(
        f"Report: {title}",
        tuple(blocks),
        origin=" · ".join(filter(None, (diagnosis.origin, ", ".join(filter(None, devices))))),
        data=without_homes(json.write([diagnosis])),
        file="diagnosis.json",
    )


def cards(
    capture: Capture, diagnosis: Diagnosis, beside: Beside, anchor: str = "kernel"
) -> Iterable[Section]:
    """A section for each kernel, with anchors ``kernel-1`` and so on."""
    measured = Measured(capture)
    kernels = diagnosis.kernels
    tables = MetricTables(measured, everything=len(kernels) <= MOST_WITH_ALL)
    for position, (kernel, name) in enumerate(zip(kernels, _names(kernels), strict=True), 1):
        manifest = beside.manifest
        own = manifest is not None and manifest.is_of(kernel.name, len(kernels))
        known = kernel_card.Known(
            measured=measured,
            row=measured.representative(kernel),
            manifest=manifest,
            own=manifest if own else None,
            # A text without a manifest is of a lone kernel.
            has_source=own or (manifest is None and len(kernels) == 1),
            source_text=beside.source_text,
            hot_lines=beside.hot_lines,
        )
        yield kernel_card.section(kernel, name, f"{anchor}-{position}", known, tables)


def _names(kernels: Sequence[KernelDiagnosis]) -> list[str]:
    return [shown(" ".join(filter(None, label))) for label in labels(kernels)]


def _overview(kernels: Sequence[KernelDiagnosis], names: Sequence[str]) -> Section:
    """The kernels by their share of time, with their verdicts."""
    bars = [
        overview.Bar(name, part, kernel.verdict.status.value, verdict_cell(kernel.verdict))
        for kernel, name in zip(kernels, names, strict=True)
        if (part := _share(kernel)) is not None
    ]
    label = "Share of time of the kernels, coloured by verdict; the same is in the table below"
    rows = (_row(at, *each) for at, each in enumerate(zip(kernels, names, strict=True), 1))
    table = Table(_COLUMNS, tuple(rows), label="kernels", long=True)
    return Section(
        f"{len(kernels):,} kernels by share of time",
        (Chart("overview", overview.rows(bars), label), table),
        anchor="kernels",
        summary=summary(kernels),
    )


def _row(position: int, kernel: KernelDiagnosis, name: str) -> tuple[Cell, ...]:
    verdict, part, spread = kernel.verdict, _share(kernel), kernel.duration_ns
    time = None if spread is None else finite(spread.median)
    gain = finite(verdict.gain)
    return (
        Cell(Span(name, target=f"kernel-{position}"), tip=shown(kernel.name)),
        Cell(Span(verdict_cell(verdict), TONES[verdict.status])),
        Cell(share(part), sort=-1.0 if part is None else part),
        Cell(
            "" if spread is None else quantity(spread.median, "ns"),
            sort=-1.0 if time is None else time,
        ),
        Cell(f"{kernel.launches:,}", sort=kernel.launches),
        _confidence(verdict.confidence),
        Cell(gain_cell(verdict), sort=gain or 0.0),
    )


def _confidence(confidence: Confidence) -> Cell:
    return Cell(confidence.value, sort=_CONFIDENCE.index(confidence.value))


def _share(kernel: KernelDiagnosis) -> float | None:
    found = finite(kernel.share)
    return None if found is None else clip(found)


def summary(kernels: Sequence[KernelDiagnosis]) -> str:
    """What limits most of the time, in a sentence or two."""
    limited = defaultdict[str, list["KernelDiagnosis"]](list)
    for kernel in kernels:
        if kernel.verdict.status is Status.BOTTLENECK and kernel.verdict.bottleneck is not None:
            limited[kernel.verdict.bottleneck].append(kernel)
    at_limit = sum(kernel.verdict.status is Status.AT_LIMIT for kernel in kernels)
    undecided = sum(kernel.verdict.status is Status.INCONCLUSIVE for kernel in kernels)
    if undecided == len(kernels):
        return (
            f"This capture does not show what limits any of the {len(kernels):,} kernels; each "
            "one's card has the command that settles it."
        )
    sentences = []
    if limited:
        slug = max(limited, key=lambda each: (_time(limited[each]), len(limited[each])))
        time = _time(limited[slug])
        sentences.append(
            f"{slug} limits {len(limited[slug]):,} of {count(len(kernels), 'kernel')}"
            + (f", which take {share(time)} of the time." if time > 0 else ".")
        )
    if at_limit:
        sentences.append(f"{_are(at_limit, len(kernels))} at the limit of the GPU.")
    if undecided:
        sentences.append(f"{_are(undecided, len(kernels))} undecided by this capture.")
    return " ".join(sentences)


def _time(kernels: Iterable[KernelDiagnosis]) -> float:
    return sum(_share(kernel) or 0.0 for kernel in kernels)


def _are(some: int, whole: int) -> str:
    if some == whole:
        return "All of them are"
    return f"{count(some, 'kernel')} {'is' if some == 1 else 'are'}"
