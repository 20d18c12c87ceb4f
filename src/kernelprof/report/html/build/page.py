"""A report's content from a capture and its diagnosis; the templates only lay it out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import kernelprof
from kernelprof.model.names import labels
from kernelprof.model.numbers import count
from kernelprof.report.html.build.card import Sources, card, device
from kernelprof.report.html.build.measured import Measured
from kernelprof.report.html.build.metrics import MetricTable
from kernelprof.report.html.build.private import shown, shown_origin, without_homes
from kernelprof.report.html.build.provenance import commands, provenance
from kernelprof.report.html.build.summary import summary
from kernelprof.report.html.view import Page
from kernelprof.report.writers.json import write as write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import Manifest

MOST_WITH_ALL_METRICS: Final = 20
"""Kernels of a page up to which the tables hold every column: 2,200 columns of ``--set full`` are
150 kB for each."""


def build_page(
    capture: Capture,
    diagnosis: Diagnosis,
    *,
    manifest: Manifest | None = None,
    source_text: str | None = None,
    hot_lines: Mapping[str, Mapping[int, float]] | None = None,
) -> Page:
    """Everything that a report shows.

    ``manifest`` is that of the capture's directory. ``hot_lines`` are, by kernel, line numbers of
    the source with their share of that kernel's samples, 0 to 1; ``None`` where no samples were
    taken.
    """
    diagnosis = replace(diagnosis, origin=shown_origin(diagnosis.origin))
    kernels = diagnosis.kernels
    everything = len(kernels) <= MOST_WITH_ALL_METRICS
    measured = Measured(capture)
    table = MetricTable(measured, everything=everything)
    sources = Sources(measured, table, manifest, source_text, hot_lines, len(kernels))
    cards = tuple(
        card(kernel, label, position, sources)
        for position, (kernel, label) in enumerate(
            zip(kernels, labels(kernels), strict=True), start=1
        )
    )
    devices = dict.fromkeys(device(kernel) for kernel in kernels)
    return Page(
        title=cards[0].name if len(cards) == 1 else count(len(cards), "kernel"),
        origin=diagnosis.origin,
        made=f"Made by kernelprof {kernelprof.__version__}",
        gpu=", ".join(name for name in devices if name),
        kernels=cards,
        headline=summary(cards),
        provenance=provenance(capture, diagnosis, manifest),
        commands=commands(manifest),
        warnings=tuple(shown(each) for each in diagnosis.warnings),
        json=without_homes(write_json([diagnosis])),
        all_metrics=everything,
    )
