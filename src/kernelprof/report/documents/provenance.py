"""Where the numbers of a page come from: tools, clocks, hashes, commands, the time of capture."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import count, number
from kernelprof.report.document import Code, Fact, Facts, Layout, Note, Section, Span
from kernelprof.report.documents.prediction import basis
from kernelprof.report.private import file_name, shown
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import CorrectnessFacts, GpuFacts, Manifest, SourceFacts
    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.report.document import Block

    Known = tuple[str, str] | tuple[str, str, str]


_HASH: Final = "SHA-256"
_FEWER: Final = (
    "With this many kernels the tables hold the metrics that kernelprof knows; a report of a "
    "single kernel holds every column of the capture."
)


def section(
    capture: Capture,
    diagnosis: Diagnosis,
    manifest: Manifest | None,
    prediction: PredictionFacts | None = None,
    *,
    all_metrics: bool,
) -> Section:
    """All that is known about how a capture was made.

    ``all_metrics`` is whether the page's tables hold every column.
    """
    found = [*_capture(capture, diagnosis, measured=prediction is None)]
    if prediction is not None:
        found += _prediction(prediction)
    elif manifest is not None:
        found += _manifest(manifest)
    elif capture.clock_control:
        found.append(("clock control", capture.clock_control))
    known = [Fact(label, (Span(shown(text)),), *tip) for label, text, *tip in found if text]
    hashes = tuple(each for each in known if _HASH in each.label)
    blocks: list[Block] = [Facts(tuple(each for each in known if each not in hashes))]
    if not all_metrics:
        blocks.append(Note(_FEWER))
    runs = () if manifest is None else manifest.runs
    if made := [shown(shlex.join(run.command)) for run in runs if run.command]:
        title = "The command that made it" if len(made) == 1 else "The commands that made it"
        code = tuple(Code(each, language="sh", copy=True) for each in made)
        blocks.append(Section(title, code, folded=True))
    if hashes:
        blocks.append(Section("Checksums", (Facts(hashes),), folded=True))
    return Section("Where this comes from", tuple(blocks), layout=Layout.GRID)


def _capture(capture: Capture, diagnosis: Diagnosis, *, measured: bool) -> Iterable[Known]:
    yield ("capture", diagnosis.origin)
    if measured:
        yield ("export", f"{capture.page} page of Nsight Compute")
    yield ("launches", count(len(capture), "launch"))
    yield ("program", file_name(capture.application or ""))
    yield ("preset asked for", diagnosis.preset or "")
    missing = sorted(capture.unavailable)
    yield ("not available", ", ".join(missing), "Metrics that ncu could not give.")


def _prediction(prediction: PredictionFacts) -> Iterable[Known]:
    yield ("made by", f"kernelprof {__version__}: {basis(prediction.counted)}")
    yield from _source(prediction.source)
    if prediction.correctness is not None:
        yield _correctness(prediction.correctness)
    yield ("machine code, SHA-256", prediction.counted.code)


def _manifest(manifest: Manifest) -> Iterable[Known]:
    yield ("measured at", manifest.created, "UTC")
    yield ("measured by", f"kernelprof {manifest.kernelprof}")
    yield ("target", shlex.join(manifest.target))
    yield ("Nsight Compute", manifest.ncu or "")
    yield ("driver", manifest.driver or "")
    yield ("CUDA", manifest.cuda or "")
    yield from _gpu(manifest.gpu)
    yield (
        "clock control",
        manifest.clock_control,
        "Whether ncu set the clocks (base) or left them as they were (none).",
    )
    if manifest.preset is not None:
        yield ("preset", manifest.preset.name)
        yield ("preset, SHA-256", manifest.preset.sha256)
    if manifest.source is not None:
        yield from _source(manifest.source)
    if manifest.correctness is not None:
        yield _correctness(manifest.correctness)
    for index, run in enumerate(manifest.runs, start=1):
        name = f"run {index}" if len(manifest.runs) > 1 else "run"
        passes = "" if run.passes is None else f", {run.passes:,} passes"
        launches = count(run.launches, "launch")
        yield (name, f"{run.why}: {launches}{passes}, {number(run.seconds)} s")
        yield (f"{name}, SHA-256 of {run.raw}", run.raw_sha256)
    yield ("schema", f"manifest version {manifest.schema_version}")


def _gpu(gpu: GpuFacts) -> Iterable[Known]:
    yield ("GPU", gpu.name or "")
    yield ("compute capability", gpu.compute_capability or "")
    for label, now, most in (
        ("SM clock", gpu.sm_mhz, gpu.max_sm_mhz),
        ("memory clock", gpu.memory_mhz, gpu.max_memory_mhz),
    ):
        parts = [f"{number(now)} MHz"] if now is not None else []
        parts += [f"at most {number(most)} MHz"] if most is not None else []
        yield (label, ", ".join(parts), "Just before the measurement.")


def _source(source: SourceFacts) -> Iterable[Known]:
    yield ("source", file_name(source.path))
    yield ("source, SHA-256", source.sha256)
    yield ("specification, SHA-256", source.specification_sha256 or "")
    yield ("compiler", source.compiler or "")
    yield ("compile flags", shlex.join(source.compile_flags))
    yield ("compilation, SHA-256", source.compile_sha256 or "")
    for name, digest in (source.includes or {}).items():
        yield (f"{name}, SHA-256", str(digest))


def _correctness(found: CorrectnessFacts) -> Known:
    parts = ["passed" if found.passed else "failed"]
    if found.reference:
        parts.append(f"against {found.reference}")
    if found.largest_error is not None:
        parts.append(f"largest error {found.largest_error:.3g}")
    if found.tolerance is not None:
        parts.append(f"allowed {found.tolerance:.3g}")
    if found.sizes:
        sizes = ", ".join(f"{name} = {size}" for name, size in found.sizes.items())
        parts.append(f"at {sizes}")
    return ("result check", ", ".join(parts), "The kernel's result against a reference.")
