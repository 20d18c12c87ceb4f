"""Snapshots of captures and of the JSON of earlier diagnoses, and how files hold them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np
from msgspec import structs

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.ncu_command import target_words
from kernelprof.analysis.verdict import diagnose
from kernelprof.comparison.counters import COUNTERS
from kernelprof.comparison.inputs import LONG_ENOUGH_NS
from kernelprof.errors import InputError
from kernelprof.model.capture import DEVICE_NAME
from kernelprof.model.records import build
from kernelprof.model.snapshot import (
    Inputs,
    KernelSnapshot,
    MeasurementSetup,
    OtherVerdict,
    Snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from _typeshed import DataclassInstance

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.manifest import CorrectnessFacts, Manifest, SourceFacts
    from kernelprof.model.prediction import PredictionFacts

    Record = TypeVar("Record", bound=DataclassInstance)

_OF_VERDICT: Final = ("status", "bottleneck", "confidence", "gain")


def make_snapshot(
    capture: Capture,
    manifest: Manifest | None = None,
    prediction: PredictionFacts | None = None,
    text: str | None = None,
) -> Snapshot:
    """Diagnose a capture; ``text`` is that of the source that manifest or prediction name."""
    facts, diagnosis = Facts(capture), diagnose(capture)
    timed = facts.values("duration") > 0
    untimed: tuple[str, ...] = ()
    if timed.any() and not timed.all():
        untimed = (f"{len(timed) - timed.sum():,} of {len(timed):,} launches have no time.",)
    groups: dict[tuple[object, ...], list[KernelDiagnosis]] = {}
    for kernel in diagnosis.kernels:
        groups.setdefault((kernel.name, kernel.grid, kernel.block), []).append(kernel)
    made_by = prediction or manifest
    source = None if made_by is None else made_by.source
    return Snapshot(
        origin=diagnosis.origin,
        target=target_words(capture),
        surveyed=manifest is not None and manifest.survey is not None,
        created=None if manifest is None else manifest.created,
        machine=MeasurementSetup() if prediction else _read_setup(facts, manifest),
        kernels=tuple(
            _with_prediction(_snapshot_kernel(facts, entries), prediction)
            if prediction
            else _with_manifest(_snapshot_kernel(facts, entries), manifest, len(groups))
            for entries in groups.values()
        ),
        sources={} if text is None or source is None else {source.sha256: text},
        warnings=(*diagnosis.warnings, *untimed),
        damage=(*capture.damage, *untimed),
    )


def merge_sides(sides: Sequence[Snapshot], kernels: Iterable[KernelSnapshot]) -> Snapshot:
    """Several sides as one with these kernels."""
    return replace(
        sides[0],
        origin=", ".join(dict.fromkeys(side.origin for side in sides)),
        kernels=tuple(kernels),
        sources={sha256: text for side in sides for sha256, text in side.sources.items()},
        warnings=tuple(dict.fromkeys(each for side in sides for each in side.warnings)),
        damage=tuple(dict.fromkeys(each for side in sides for each in side.damage)),
    )


def join_runs(runs: Sequence[Snapshot]) -> Snapshot:
    """Join runs of the same code: all launches, counters of the first with their ranges.

    A kernel that some runs lack is damage.
    """
    if len(runs) == 1:
        return runs[0]
    groups: dict[tuple[object, ...], list[KernelSnapshot]] = {}
    for run in runs:
        for kernel in run.kernels:
            groups.setdefault(kernel.key, []).append(kernel)
    lacking = [
        f"{kernels[0].name} is in only {len(kernels)} of {len(runs)} runs."
        for kernels in groups.values()
        if len(kernels) < len(runs)
    ]
    lacking += [
        f"{first.name} is launched {first.launches:,} times in one run, "
        "but a different number of times in another."
        for first, *others in groups.values()
        if any(each.launches != first.launches for each in others)
    ]
    whole = merge_sides(runs, map(_join_kernel, groups.values()))
    targets = {run.target for run in runs}
    return replace(
        whole,
        target=targets.pop() if len(targets) == 1 else (),
        warnings=(*whole.warnings, *lacking),
        damage=(*whole.damage, *lacking),
    )


def _join_kernel(runs: Sequence[KernelSnapshot]) -> KernelSnapshot:
    events = tuple(each for run in runs for each in run.events_ns)
    profiled = tuple(each for run in runs for each in run.profiled_ns)
    first, others = _rank_verdicts(runs)
    passed = {run.passed for run in runs}
    observed = {}
    for name in COUNTERS:
        ranges = [run.spread.get(name, (run.metrics[name],)) for run in runs if name in run.metrics]
        ends = [end for each in ranges for end in each]
        if ends and min(ends) < max(ends):
            observed[name] = (min(ends), max(ends))
    return replace(
        first,
        launches=max(run.launches for run in runs),
        events_ns=events,
        profiled_ns=profiled,
        median_ns=_median(events or profiled, first.median_ns),
        spread=observed,
        passed=False if False in passed else None if None in passed else True,
        contradiction=next((run.contradiction for run in runs if run.contradiction), None),
        others=others,
    )


def _rank_verdicts(
    runs: Sequence[KernelSnapshot],
) -> tuple[KernelSnapshot, tuple[OtherVerdict, ...]]:
    verdicts: dict[tuple[object, ...], list[OtherVerdict]] = {}
    for run in runs:
        most = run.launches - sum(each.launches for each in run.others)
        for each in (OtherVerdict(run.verdict, most), *run.others):
            verdicts.setdefault(each.verdict.answer, []).append(each)
    counts = {answer: sum(each.launches for each in alike) for answer, alike in verdicts.items()}
    ranked = sorted(counts, key=lambda answer: counts[answer], reverse=True)
    first = next((run for run in runs if run.verdict.answer == ranked[0]), runs[0])
    return first, tuple(
        OtherVerdict(verdicts[answer][0].verdict, counts[answer])
        for answer in ranked
        if answer != first.verdict.answer
    )


def _median(times: Sequence[float], otherwise: float | None = None) -> float | None:
    return float(np.median(times)) if times else otherwise


def read_diagnosis(document: dict[str, Any], origin: str) -> Snapshot:
    """Return the snapshot of ``diagnose --format json``: medians, counters of the evidence."""
    try:
        kernels = document["kernels"]
        environment = MeasurementSetup(
            gpu=_join_distinct(each.get("device") for each in kernels),
            compute_capability=_join_distinct(each.get("compute_capability") for each in kernels),
        )
        return Snapshot(origin, None, environment, tuple(map(_read_kernel, kernels)))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"this is not the JSON of a diagnosis: {type(error).__name__}: {error}",
            where=origin,
            hint="name a JSON file from 'kernelprof diagnose --format json'",
        ) from error


def to_values(record: DataclassInstance) -> dict[str, Any]:
    """A record as files hold it; of a verdict they keep what comparisons look at."""
    values: dict[str, Any] = _shorten_verdicts(msgspec.to_builtins(record, enc_hook=float))
    return values


def from_values(kind: type[Record], values: dict[str, Any]) -> Record:
    """The record of :func:`to_values`. Raises ``RecordError`` with the key of a mistake."""
    return build(kind, _with_candidates(values))


def _shorten_verdicts(values: Any) -> Any:
    if isinstance(values, list | tuple):
        return [_shorten_verdicts(each) for each in values]
    if not isinstance(values, dict):
        return values
    if values.keys() >= {*_OF_VERDICT, "also", "evidence"}:
        names = [each["bottleneck"] for each in values["also"]]
        return {**{key: values[key] for key in _OF_VERDICT}, "also": names}
    return {key: _shorten_verdicts(each) for key, each in values.items()}


def _with_candidates(values: Any) -> Any:
    if isinstance(values, list):
        return [_with_candidates(each) for each in values]
    if not isinstance(values, dict):
        return values
    tables = {key: _with_candidates(each) for key, each in values.items()}
    if "bottleneck" in tables and isinstance(tables.get("also"), list):
        tables["also"] = [
            {"bottleneck": each} if isinstance(each, str) else each for each in tables["also"]
        ]
    return tables


def _snapshot_kernel(facts: Facts, entries: list[KernelDiagnosis]) -> KernelSnapshot:
    # What the launches of a kernel have, without how they were made
    first = max(entries, key=lambda each: each.share or 0.0)
    rows = sorted(row for entry in entries for row in entry.rows)
    metrics, observed = {}, {}
    for name in load_metrics():
        values = facts.values(name)[rows]
        is_known = ~np.isnan(values)
        if not is_known.any() or (name in COUNTERS and not is_known.all()):
            # An exact counter that some launches lack says nothing of them.
            continue
        values = values[is_known]
        metrics[name] = float(np.median(values))
        if name in COUNTERS and values.min() < values.max():
            observed[name] = (float(values.min()), float(values.max()))
    durations = facts.values("duration")[rows]
    profiled = tuple(float(each) for each in durations[durations > 0])
    return KernelSnapshot(
        name=first.name,
        grid=first.grid,
        block=first.block,
        launches=len(rows),
        verdict=first.verdict,
        profiled_ns=profiled,
        median_ns=_median(profiled),
        metrics=metrics,
        spread=observed,
        contradiction=_find_contradiction(facts, rows) if profiled else None,
        others=tuple(
            OtherVerdict(each.verdict, len(each.rows))
            for each in entries
            if each.verdict.answer != first.verdict.answer
        ),
    )


def _find_contradiction(facts: Facts, rows: Sequence[int]) -> str | None:
    for doubt in facts.doubts:
        if "duration" in (doubt.metric, *doubt.metrics) and doubt.rows[rows].any():
            return f"the times contradict other metrics ({doubt.names}): {doubt.reason}"
    return None


def _with_manifest(
    snapshot: KernelSnapshot, manifest: Manifest | None, kernels: int
) -> KernelSnapshot:
    if manifest is None or not manifest.describes_kernel(snapshot.name, kernels):
        return snapshot
    timing = manifest.timing
    events = timing.times_ns if timing else ()
    return replace(
        snapshot,
        events_ns=events,
        median_ns=_median(events, snapshot.median_ns),
        flops=timing.flops if timing else None,
        min_bytes=timing.min_bytes if timing else None,
        passed=_has_passed(manifest.correctness),
        inputs=None if manifest.source is None else make_inputs(manifest.source),
    )


_PREDICTED: Final = frozenset(
    {
        *COUNTERS,
        "block_limit_blocks",
        "theoretical_occupancy",
        "shared_memory_per_block",
        "grid_size",
        "block_size",
        "duration",
    }
)
"""Metrics of a prediction that are counted, or the compiler's, and its time, which is only shown;
the others take time."""


def _with_prediction(snapshot: KernelSnapshot, prediction: PredictionFacts) -> KernelSnapshot:
    # Its counts: what takes time is compared on a GPU alone
    observed = {name: each for name, each in prediction.intervals.items() if name in COUNTERS}
    return replace(
        snapshot,
        metrics={name: each for name, each in snapshot.metrics.items() if name in _PREDICTED},
        spread=observed,
        profiled_ns=(),
        median_ns=None,
        passed=_has_passed(prediction.correctness),
        inputs=make_inputs(prediction.source),
        predicted=prediction.counts,
    )


def make_inputs(source: SourceFacts) -> Inputs:
    """What a kernel was built and launched from."""
    return Inputs(
        path=source.path,
        source_sha256=source.sha256,
        specification=source.specification,
        compiler=source.compiler,
        compile_flags=source.compile_flags,
        includes=source.includes,
    )


def _has_passed(check: CorrectnessFacts | None) -> bool | None:
    # Whether a check was passed, by its own numbers as well
    if check is None or not check.passed:
        return None if check is None else False
    error, allowed = check.largest_error, check.tolerance
    return error is None or allowed is None or error <= allowed


def _read_setup(facts: Facts, manifest: Manifest | None) -> MeasurementSetup:
    launches = facts.capture.launches
    capabilities = {each.compute_capability for each in launches}
    environment = MeasurementSetup(
        gpu=_name_gpu(facts.capture),
        compute_capability=_join_distinct(
            each and ".".join(map(str, each)) for each in capabilities
        ),
        clock_control=facts.capture.clock_control,
        sm_hz=_average_clock(facts, LONG_ENOUGH_NS),
        rough_sm_hz=_average_clock(facts, 0.0),
    )
    if manifest is None:
        return environment
    return structs.replace(
        environment,
        gpu=manifest.gpu.name or environment.gpu,
        compute_capability=manifest.gpu.compute_capability or environment.compute_capability,
        driver=manifest.driver,
        cuda=manifest.cuda,
        ncu=manifest.ncu,
        clock_control=manifest.clock_control,
    )


def _average_clock(facts: Facts, least_ns: float) -> float | None:
    clock, duration = facts.values("sm_clock"), facts.values("duration")
    usable = ~np.isnan(clock) & (duration > 0) & (duration >= least_ns)
    if not usable.any():
        return None
    return float(np.average(clock[usable], weights=duration[usable]))


def _name_gpu(capture: Capture) -> str | None:
    names = capture.text.get(DEVICE_NAME) or [each.device for each in capture.launches]
    return _join_distinct(each for each in names if each is not None and not each.isdigit())


def _join_distinct(values: Iterable[str | None]) -> str | None:
    # The value that all have; several are named together
    distinct = sorted({each for each in values if each is not None})
    return ", ".join(distinct) or None


def _read_kernel(kernel: dict[str, Any]) -> KernelSnapshot:
    verdict, duration = kernel["verdict"], kernel["duration_ns"]
    values = {
        **{name: kernel[name] for name in ("name", "grid", "block", "launches")},
        "verdict": {
            **{name: verdict[name] for name in ("status", "bottleneck", "confidence", "also")},
            "gain": verdict["estimated_gain"],
        },
        "median_ns": duration and duration["median"],
        "metrics": {e["metric"]: e["value"] for e in verdict["evidence"] if _is_metric_itself(e)},
    }
    return from_values(KernelSnapshot, values)


def _is_metric_itself(evidence: dict[str, Any]) -> bool:
    metric = load_metrics().get(evidence["metric"])
    as_it_is = (
        metric is not None and metric.unit == evidence["unit"] and not evidence.get("formula")
    )
    return as_it_is and evidence["value"] is not None
