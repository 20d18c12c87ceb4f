"""A prediction as plain values, for whoever shows it, compares it or keeps it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.launch.run.trial import WrongResultError, correctness_facts
from kernelprof.launch.source import launch_hashes, read_source
from kernelprof.model.manifest import SourceFacts
from kernelprof.model.prediction import Mistake, Predicted, PredictionFacts
from kernelprof.prediction.lines import SourcePaths
from kernelprof.prediction.metrics import list_intervals
from kernelprof.prediction.predictor import digest_code
from sassim.faults import FaultError

if TYPE_CHECKING:
    from kernelprof.errors import KernelprofError
    from kernelprof.prediction.machine_code import CompiledSource
    from kernelprof.prediction.predictor import Prediction

_DIGITS: Final = 8
"""Of a line's digest: in a source of 10,000 lines two are taken for one another once in a hundred
times, and then one change of it has a wrong line beside the right one."""


def summarize_code(compiled: CompiledSource) -> PredictionFacts:
    """What is known of a kernel that was compiled and not run."""
    spec, source = compiled.spec, compiled.source
    hashes = launch_hashes(source, spec)
    return PredictionFacts(
        counts=Predicted(
            arch=compiled.arch,
            code=digest_code(compiled.code),
            blocks=0,
            blocks_run=0,
            file=str(source),
            text=line_digests(read_source(source)),
        ),
        source=SourceFacts(
            path=str(source),
            sha256=hashes.source,
            specification=spec.document(),
            specification_sha256=hashes.specification,
            compiler=compiled.compiler,
            compile_flags=compiled.built.options,
            compile_sha256=hashes.compile,
            includes=dict(hashes.includes),
            compiler_warnings=compiled.built.warnings,
            inferred=compiled.overrides.remarks,
        ),
    )


def describe_mistake(compiled: CompiledSource, error: KernelprofError) -> Mistake | None:
    """What is wrong with a kernel by the error that its prediction ended with.

    ``None`` where the error is no mistake of the kernel.
    """
    what, _, details = " ".join(error.what.split()).partition(": ")
    fault = error.__cause__
    if isinstance(fault, FaultError):
        lines = () if fault.instruction is None else fault.instruction.lines
        return Mistake(what, details, *SourcePaths(compiled.source).place_of(lines))
    return Mistake(what, details) if isinstance(error, WrongResultError) else None


def summarize_prediction(prediction: Prediction) -> PredictionFacts:
    """What a prediction says beside its capture."""
    facts_of_source = summarize_code(prediction.compiled)
    return replace(
        facts_of_source,
        counts=replace(
            facts_of_source.counts,
            blocks=prediction.blocks,
            blocks_run=prediction.blocks_run,
            accesses=prediction.by_line.accesses,
            lines=prediction.by_line.lines,
            coverage=prediction.coverage,
        ),
        intervals=list_intervals(prediction.capture),
        correctness=correctness_facts(prediction.compiled.spec, prediction.checked),
    )


def line_digests(text: str) -> tuple[str, ...]:
    """A short digest of each line of a source, whatever space is in it; empty for an empty line."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return tuple(
        hashlib.sha256(line.encode("utf-8", "replace")).hexdigest()[:_DIGITS] if line else ""
        for line in lines
    )
