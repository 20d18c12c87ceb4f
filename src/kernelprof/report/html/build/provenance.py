"""Where the numbers of a page come from: tools, clocks, hashes, commands, the time of capture."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from kernelprof.model.numbers import count, number
from kernelprof.report.html.build.private import file_name, shown
from kernelprof.report.html.view import Fact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import CorrectnessFacts, GpuFacts, Manifest, SourceFacts


def provenance(
    capture: Capture, diagnosis: Diagnosis, manifest: Manifest | None
) -> tuple[Fact, ...]:
    """All that is known about how a capture was made."""
    facts = [*_capture(capture, diagnosis)]
    if manifest is not None:
        facts += _manifest(manifest)
    elif capture.clock_control:
        facts.append(Fact("clock control", capture.clock_control))
    return tuple(Fact(each.label, shown(each.text), each.tip) for each in facts if each.text)


def commands(manifest: Manifest | None) -> tuple[str, ...]:
    """The commands that made a capture, in their order."""
    runs = () if manifest is None else manifest.runs
    return tuple(shown(shlex.join(run.command)) for run in runs if run.command)


def _capture(capture: Capture, diagnosis: Diagnosis) -> Iterable[Fact]:
    yield Fact("capture", diagnosis.origin)
    yield Fact("export", f"{capture.page} page of Nsight Compute")
    yield Fact("launches", count(len(capture), "launch"))
    yield Fact("program", file_name(capture.application or ""))
    yield Fact("preset asked for", diagnosis.preset or "")
    missing = sorted(capture.unavailable)
    yield Fact("not available", ", ".join(missing), "Metrics that ncu could not give.")


def _manifest(manifest: Manifest) -> Iterable[Fact]:
    yield Fact("measured at", manifest.created, "UTC")
    yield Fact("measured by", f"kernelprof {manifest.kernelprof}")
    yield Fact("target", shlex.join(manifest.target))
    yield Fact("Nsight Compute", manifest.ncu or "")
    yield Fact("driver", manifest.driver or "")
    yield Fact("CUDA", manifest.cuda or "")
    yield from _gpu(manifest.gpu)
    yield Fact(
        "clock control",
        manifest.clock_control,
        "Whether ncu set the clocks (base) or left them as they were (none).",
    )
    if manifest.preset is not None:
        yield Fact("preset", manifest.preset.name)
        yield Fact("preset, SHA-256", manifest.preset.sha256)
    if manifest.source is not None:
        yield from _source(manifest.source)
    if manifest.correctness is not None:
        yield _correctness(manifest.correctness)
    for index, run in enumerate(manifest.runs, start=1):
        name = f"run {index}" if len(manifest.runs) > 1 else "run"
        passes = "" if run.passes is None else f", {run.passes:,} passes"
        launches = count(run.launches, "launch")
        yield Fact(name, f"{run.why}: {launches}{passes}, {number(run.seconds)} s")
        yield Fact(f"{name}, SHA-256 of {run.raw}", run.raw_sha256)
    yield Fact("schema", f"manifest version {manifest.schema_version}")


def _gpu(gpu: GpuFacts) -> Iterable[Fact]:
    yield Fact("GPU", gpu.name or "")
    yield Fact("compute capability", gpu.compute_capability or "")
    for label, now, most in (
        ("SM clock", gpu.sm_mhz, gpu.max_sm_mhz),
        ("memory clock", gpu.memory_mhz, gpu.max_memory_mhz),
    ):
        parts = [f"{number(now)} MHz"] if now is not None else []
        parts += [f"at most {number(most)} MHz"] if most is not None else []
        yield Fact(label, ", ".join(parts), "Just before the measurement.")


def _source(source: SourceFacts) -> Iterable[Fact]:
    yield Fact("source", file_name(source.path))
    yield Fact("source, SHA-256", source.sha256)
    yield Fact("specification, SHA-256", source.specification_sha256 or "")
    yield Fact("compiler", source.compiler or "")
    yield Fact("compile flags", shlex.join(source.compile_flags))
    yield Fact("compilation, SHA-256", source.compile_sha256 or "")
    for name, digest in (source.includes or {}).items():
        yield Fact(f"{name}, SHA-256", str(digest))


def _correctness(found: CorrectnessFacts) -> Fact:
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
    return Fact("result check", ", ".join(parts), "The kernel's result against a reference.")
