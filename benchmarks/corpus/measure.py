"""Measures the corpus on a GPU: every side checked, timed by CUDA events and profiled."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from benchmarks.corpus.pairs import Form, Side
from benchmarks.corpus.scripts import PROFILE_S, Stopwatch, is_same, prepared_script
from benchmarks.frameworks import RANGE

from kernelprof.analysis.metrics.catalogue import names_known, names_read, preset
from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.commands import LaunchFilters
from kernelprof.collect.drill import PASSES
from kernelprof.collect.recorded import make_portable
from kernelprof.collect.run import Session
from kernelprof.collect.store import draft
from kernelprof.errors import ExitCode, KernelprofError, MissingToolError
from kernelprof.launch.run.prepare import prepare_kernel
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.model.numbers import factor, quantity
from kernelprof.sources.capture_directory import is_capture, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from benchmarks.corpus.pairs import Pair

    from kernelprof.collect.environment import LocalMachine
    from kernelprof.collect.store import CaptureDraft
    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.run.prepare import PreparedKernel
    from kernelprof.model.capture import Capture
    from kernelprof.model.manifest import Manifest
    from kernelprof.report.progress import ProgressLine

PRESET: Final = "full"
NCU_SET: Final = "full"
"""Beside the preset ``before`` is collected with all of NVIDIA's sections, so that their rules, and
other analyzers, can be asked about the very same launch."""

_DEVICE: Final = frozenset(
    f"device__attribute_{name}"
    for name in (
        *("chip", "clock_rate", "compute_capability_major", "compute_capability_minor"),
        *("display_name", "global_memory_bus_width", "l2_cache_size", "memory_clock_rate"),
        *("multiprocessor_count", "single_to_double_precision_perf_ratio"),
    )
)
"""What describes the GPU: the reader, the rules and the reports look at these."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured. ``captures`` gets a capture directory a kernel.

    ``everything`` is a folder for the whole raw and details pages of each ``before``, ``None`` for
    none. With ``anew`` kernels are measured again that did not change since. ``python`` is what
    launches PyTorch and Triton.
    """

    pairs: tuple[Pair, ...]
    captures: Path
    everything: Path | None = None
    anew: bool = False
    python: str = sys.executable


@dataclass(frozen=True, slots=True)
class Failure:
    """A kernel that could not be measured."""

    target: str
    error: KernelprofError


def measure(plan: Plan, say: Callable[[str], None]) -> tuple[Failure, ...]:
    """Measure what is new or changed; a kernel that fails is told and the others go on."""
    from kernelprof.collect.request import local_tools
    from kernelprof.launch.processes import Interrupts
    from kernelprof.report.progress import ProgressLine
    from kernelprof.tools import ncu_version

    here = local_tools(for_source=True)
    if here.missing or here.ncu is None or here.machine is None:
        raise MissingToolError(
            f"the corpus cannot be measured here: this machine has {here.describe()}",
            hint="run it on a machine with a GPU, ncu, nvcc and PyCUDA; 'kernelprof doctor' "
            "lists what a machine lacks",
        )
    failures: list[Failure] = []
    todo = [(pair, side) for pair in plan.pairs for side in pair.sides]
    with Interrupts() as interrupts, ProgressLine() as progress:
        measurer = _Measurer(
            plan,
            interrupts,
            progress,
            here.ncu,
            ncu_version(here.ncu),
            here.machine,
            Stopwatch(plan.python, interrupts, _new_scripts(plan)),
        )
        for position, (pair, side) in enumerate(todo, 1):
            start = time.monotonic()
            try:
                told = measurer.kernel(pair, side)
            except KernelprofError as error:
                if error.exit_code == ExitCode.ENVIRONMENT and not failures and position == 1:
                    raise  # the others would meet it too
                failures.append(Failure(pair.target(side), error))
                told = f"failed: {error.what}"
            seconds = time.monotonic() - start
            say(f"{position} of {len(todo)}: {pair.name}/{side}: {told} ({seconds:.0f} s)")
    return tuple(failures)


def place(captures: Path, pair: Pair, side: Side) -> Path:
    """Where the capture of a kernel lies."""
    return captures / pair.name / side


def is_measured(captures: Path, pair: Pair, side: Side) -> bool:
    """Whether there is a capture of the kernel, or of what the script launches, as it is now."""
    from kernelprof.collect.recorded import find_differences
    from kernelprof.launch.source import launch_hashes
    from kernelprof.launch.specification.reader import load_spec

    folder = place(captures, pair, side)
    if not is_capture(folder):
        return False
    facts = read_manifest(folder).source
    source = pair.source(side)
    if pair.form is Form.SCRIPT:
        return facts is not None and is_same(facts, source)
    spec = load_spec(source)
    return facts is not None and not find_differences(
        facts, launch_hashes(source, spec), spec.document()
    )


def _new_scripts(plan: Plan) -> tuple[str, ...]:
    """The pairs that scripts launch and that are to be measured, by name."""
    return tuple(
        pair.name
        for pair in plan.pairs
        if pair.form is Form.SCRIPT
        and (plan.anew or not all(is_measured(plan.captures, pair, side) for side in pair.sides))
    )


@dataclass(frozen=True, slots=True)
class _Measurer:
    plan: Plan
    interrupts: Interrupts
    progress: ProgressLine
    ncu: str
    version: str | None
    machine: LocalMachine
    stopwatch: Stopwatch

    def kernel(self, pair: Pair, side: Side) -> str:
        """Measure one kernel, and say in a line what came out."""
        plan = self.plan
        if not plan.anew and is_measured(plan.captures, pair, side):
            return "unchanged"
        source = pair.source(side)
        keep = place(plan.captures, pair, side)
        with (
            self._prepared(pair, side) as prepared,
            draft(keep, force=True) as stage,
        ):
            session = self._session(pair, prepared, stage)
            wanted = preset(PRESET)
            why = f"preset {PRESET}: {wanted.title}"
            self.progress.begin(f"{pair.name}/{side}: {why}")
            whole = side is Side.BEFORE
            capture = session.collect(wanted.metrics, None, why, sets=[NCU_SET] if whole else [])
            if whole and plan.everything is not None:
                _keep_everything(session, pair, _judged(capture), plan.everything)
            manifest = session.manifest(preset=PRESET, prepared=prepared)
            manifest = _compacted(manifest, stage)
            self.interrupts.check()
            stage.commit(make_portable(manifest, source, pair.target(side)))
        return _told(capture, manifest)

    def _prepared(self, pair: Pair, side: Side) -> AbstractContextManager[PreparedKernel]:
        if pair.form is Form.SCRIPT:
            self.progress.say(f"{pair.name}: checking and timing")
            return nullcontext(prepared_script(pair, side, self.stopwatch))
        source = pair.source(side)
        return prepare_kernel(source, LaunchOverrides(), self.interrupts, self.progress.say)

    def _session(self, pair: Pair, prepared: PreparedKernel, stage: CaptureDraft) -> Session:
        launched = pair.form is Form.SCRIPT
        ranges = (f"{RANGE}/",) if launched else ()
        return Session(
            ncu=self.ncu,
            application=prepared.command,
            draft=stage,
            interrupts=self.interrupts,
            filters=LaunchFilters(
                prepared.kernel, prepared.launch_skip, prepared.launch_count, ranges
            ),
            time_limit=PROFILE_S if launched else None,
            version=self.version,
            machine=self.machine,
            progress=self.progress,
        )


def _judged(capture: Capture) -> str:
    """The ID of the launch that the verdict is about: the first of the costliest kernel."""
    row = diagnose(capture, preset=PRESET).kernels[0].rows[0]
    return capture.launches[row].id


def _keep_everything(session: Session, pair: Pair, launch: str, folder: Path) -> None:
    """A launch's whole raw and details pages, for other analyzers."""
    folder.mkdir(parents=True, exist_ok=True)
    run, made = session.runs[0], session.draft.folder
    raw = gzip.decompress((made / run.raw).read_bytes())
    details = session.page(made / str(run.report), "details")
    for name, page in (("raw", raw), ("details", details)):
        packed = gzip.compress(of_launch(page, launch), 6, mtime=0)
        (folder / f"{pair.name}.{name}.csv.gz").write_bytes(packed)


def of_launch(page: bytes, launch: str) -> bytes:
    """A raw or details page with one of its launches, and with the units of a raw page."""
    names, *rows = _rows(page)
    at = names.index("ID")
    return _page([names, *(row for row in rows if row[at] in {"", launch})])


def _compacted(manifest: Manifest, stage: CaptureDraft) -> Manifest:
    """The manifest of a capture whose raw page is compact and whose report is gone."""
    (run,) = manifest.runs
    page = gzip.decompress((stage.folder / run.raw).read_bytes())
    name, digest = stage.store("raw", 0, compact(page))
    (stage.folder / str(run.report)).unlink(missing_ok=True)
    return replace(manifest, runs=(replace(run, raw=name, raw_sha256=digest, report=None),))


def _told(capture: Capture, manifest: Manifest) -> str:
    verdict = diagnose(capture, preset=PRESET).kernels[0].verdict
    parts = [verdict.bottleneck or verdict.status.value, verdict.confidence.value]
    if verdict.gain is not None:
        parts.append(factor(verdict.gain))
    if manifest.timing is not None:
        parts.insert(0, quantity(manifest.timing.median_ns, "ns"))
    return ", ".join(parts)


def compact(page: bytes) -> bytes:
    """The raw page without columns that no metric, launch or GPU is read from.

    The page is one that ``ncu --import --csv --page raw`` printed: a line of names, one of units,
    then launches.
    """
    rows = _rows(page)
    kept = [index for index, name in enumerate(rows[0]) if _is_kept(name)]
    return _page([[row[index] for index in kept] for row in rows])


def _rows(page: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(page.decode("utf-8"))))


def _page(rows: Iterable[Sequence[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _is_kept(name: str) -> bool:
    plain = "__" not in name  # ID, Kernel Name, Block Size and the like
    return (
        plain
        or name.startswith("launch__")
        or name in _DEVICE
        or name in _known()
        or name == PASSES
    )


@cache
def _known() -> frozenset[str]:
    """Every name of every metric, on any architecture, and what advice looks at beside them."""
    return names_known() | names_read()
