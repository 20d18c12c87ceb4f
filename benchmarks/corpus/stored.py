"""The corpus as it was measured: verdicts and times out of committed captures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from benchmarks.corpus.measure import place
from benchmarks.corpus.pairs import Form, Side
from benchmarks.corpus.score import Measured

from kernelprof.analysis.metrics.catalogue import preset
from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.drill import collect_by_verdicts, is_undecided
from kernelprof.errors import InputError
from kernelprof.model.capture import Capture
from kernelprof.sources.capture_directory import is_capture, read_manifest, read_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from benchmarks.corpus.pairs import Pair

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.model.capture import MetricColumn
    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.manifest import Manifest

FOLDER: Final = Path(__file__).parent / "recorded" / "h200-pairs"
"""The captures of kernels."""

SCRIPTS_FOLDER: Final = Path(__file__).parents[2] / "tests" / "captures" / "h200_frameworks"
"""Where those of PyTorch and Triton lie, which are for this score and for tests alone."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's capture and what its manifest says."""

    capture: Capture
    manifest: Manifest

    @property
    def median_ns(self) -> float | None:
        """The median of its times between CUDA events."""
        timing = self.manifest.timing
        return None if timing is None else timing.median_ns


def home(pair: Pair) -> Path:
    """The folder that the repository has the captures of a pair in."""
    return SCRIPTS_FOLDER if pair.form is Form.SCRIPT else FOLDER


def load(pairs: Sequence[Pair], captures: Path | None = None) -> dict[str, dict[Side, Kernel]]:
    """The captures of pairs by name and side; kernels without one are left out.

    They lie in ``captures``, for ``None`` where the repository has them.
    """
    check_folder(captures or FOLDER)
    found = {pair.name: load_pair(pair, captures) for pair in pairs}
    return {name: kernels for name, kernels in found.items() if kernels}


def load_pair(pair: Pair, captures: Path | None) -> dict[Side, Kernel]:
    """The captures of one pair by side."""
    places = {side: place(captures or home(pair), pair, side) for side in pair.sides}
    return {
        side: Kernel(read_stored(folder), read_manifest(folder))
        for side, folder in places.items()
        if is_capture(folder)
    }


def check_folder(captures: Path) -> None:
    """Refuse a folder of captures that is not there."""
    if not captures.is_dir():
        raise InputError(
            "the folder of captures of the corpus does not exist",
            where=str(captures),
            hint="name the folder that 'python -m benchmarks.corpus run --captures' wrote",
        )


def measured(
    loaded: Mapping[str, Mapping[Side, Kernel]],
    judge: Callable[[Sequence[Capture]], list[Verdict]],
    sides: Collection[Side] = tuple(Side),
) -> dict[str, Measured]:
    """What is known of each pair, with verdicts by ``judge`` on some of its kernels."""
    asked = [(name, side) for name, kernels in loaded.items() for side in kernels if side in sides]
    verdicts: dict[str, dict[Side, Verdict]] = {name: {} for name in loaded}
    said = judge([loaded[name][side].capture for name, side in asked])
    for (name, side), verdict in zip(asked, said, strict=True):
        verdicts[name][side] = verdict
    return {name: Measured(_times(kernels), verdicts[name]) for name, kernels in loaded.items()}


def _times(kernels: Mapping[Side, Kernel]) -> dict[Side, float]:
    return {s: k.median_ns for s, k in kernels.items() if k.median_ns is not None}


def by_full(captures: Sequence[Capture]) -> list[Verdict]:
    """The verdicts of everything that was captured."""
    return verdicts_on(captures)


def by_triage(captures: Sequence[Capture]) -> list[Verdict]:
    """The verdicts that the preset ``triage`` alone gives."""
    return verdicts_on([with_only(each, preset("triage").metrics) for each in captures])


def by_drill_down(captures: Sequence[Capture]) -> list[Verdict]:
    """The verdicts from ``triage`` and what each of them asks for, out of the same launch."""
    return [
        _drilled(capture) if is_undecided(first) else first
        for capture, first in zip(captures, by_triage(captures), strict=True)
    ]


def _drilled(capture: Capture) -> Verdict:
    def collect(metrics: Sequence[Metric], kernels: Sequence[str] | None, why: str) -> Capture:
        del kernels, why
        return with_only(capture, metrics)

    return collect_by_verdicts(collect).diagnosis.kernels[0].verdict


def verdicts_on(captures: Sequence[Capture]) -> list[Verdict]:
    """The verdict on each capture's kernel that took most of its time.

    All are judged at once, as the launches of one capture: that takes little longer than one. Only
    the commands for what is missing are those of no capture.
    """
    if not captures:
        return []
    owner = [at for at, capture in enumerate(captures) for _ in capture.launches]
    found: dict[int, Verdict] = {}
    for kernel in diagnose(_together(captures)).kernels:
        found.setdefault(owner[kernel.rows[0]], kernel.verdict)
    return [found[at] for at in range(len(captures))]


def _together(captures: Sequence[Capture]) -> Capture:
    """One capture with the launches of all, each kernel under a name of its own."""
    names = dict.fromkeys(name for capture in captures for name in capture.columns)
    return Capture(
        launches=tuple(
            replace(launch, kernel=f"{at}: {launch.kernel}")
            for at, capture in enumerate(captures)
            for launch in capture.launches
        ),
        columns={
            name: _column([(each, each.columns.get(name)) for each in captures]) for name in names
        },
        unavailable=frozenset[str]().union(*(capture.unavailable for capture in captures)),
    )


def _column(parts: Sequence[tuple[Capture, MetricColumn | None]]) -> MetricColumn:
    """A metric over all launches; readers give it the same unit in every capture."""
    first = next(column for _, column in parts if column is not None)
    values = [
        np.full(len(capture), np.nan) if column is None else column.values
        for capture, column in parts
    ]
    return replace(first, values=np.concatenate(values))


def with_only(capture: Capture, metrics: Iterable[Metric]) -> Capture:
    """A capture as it were if only these metrics had been collected."""
    wanted = {name for metric in metrics for name in metric.all_ncu_names()}
    columns = {
        name: column for name, column in capture.columns.items() if name in wanted or _always(name)
    }
    return replace(capture, columns=columns)


def _always(name: str) -> bool:
    """Whether ``ncu`` gives a column whatever is asked for."""
    return "__" not in name or name.startswith(("device__attribute_", "launch__"))
