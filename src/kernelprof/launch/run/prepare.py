"""From a source to a command that ``ncu`` can run: built, checked and timed before.

A source with a launch specification is launched by ``launch/child.py``; one with its own ``main``
is compiled to a program.
"""

from __future__ import annotations

import shlex
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.errors import UsageError
from kernelprof.launch import processes
from kernelprof.launch.build.compilation import compile_failure
from kernelprof.launch.build.nvcc import Workshop, real_names, scratch
from kernelprof.launch.build.options import (
    divide_linker_options,
    join_values,
    resolve_folders,
    split_options,
)
from kernelprof.launch.processes import RequestWorker, TimeLimitError, WorkerEndedError
from kernelprof.launch.run.faults import run_sanitizer
from kernelprof.launch.run.trial import (
    LaunchError,
    Trial,
    correctness_facts,
    read_trial,
    timing_facts,
)
from kernelprof.launch.signature import has_main
from kernelprof.launch.source import (
    changed_meanwhile,
    file_hash,
    find_block,
    include_hashes,
    launch_hashes,
    read_source,
)
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.model.manifest import CorrectnessFacts, SourceFacts
from kernelprof.tools import nvcc_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.model.manifest import TimingFacts

    Timer = Callable[[Mapping[str, int], int], Sequence[float]]

CHILD = ("-P", "-m", "kernelprof.launch.child")
"""How Python runs the child process; ``-P`` keeps files of the user's folder out of its imports."""
_COMPILE_LIMIT_S = 600.0
_LAST_LINES = 12


@dataclass(frozen=True, slots=True)
class PreparedKernel:
    """A built and checked kernel, and the command that ``ncu`` runs.

    ``kernel`` is a regular expression of full names, ``None`` for all; ``launch_skip`` and
    ``launch_count`` leave out warm-up; ``arguments`` are those of a program with its own
    ``main``.
    """

    target: str
    command: tuple[str, ...]
    kernel: str | None = None
    launch_skip: int | None = None
    launch_count: int | None = None
    source: SourceFacts | None = None
    timing: TimingFacts | None = None
    correctness: CorrectnessFacts | None = None
    arguments: tuple[str, ...] = ()


@contextmanager
def prepare_kernel(
    source: Path,
    overrides: LaunchOverrides,
    interrupts: Interrupts,
    progress: Callable[[str], None],
    *,
    arguments: Sequence[str] = (),
    flags: Sequence[str] = (),
) -> Iterator[PreparedKernel]:
    """Build a source, check its result and time it; delete the build on leaving the context.

    ``progress`` is called with each step. ``arguments`` and ``flags`` are for a source with its
    own ``main``: its arguments and more options of ``nvcc``.
    """
    with scratch() as folder:
        if is_program(source, overrides):
            built = _program(source, folder, interrupts, progress, flags)
            given = tuple(arguments)
            yield replace(built, command=(*built.command, *given), arguments=given)
        else:
            yield _launched(source, overrides, folder, interrupts, progress)


def is_program(source: Path, overrides: LaunchOverrides) -> bool:
    """Whether a source is built with its own ``main``; overrides are then refused."""
    if overrides.inferred is not None:
        return False
    if find_block(source) is not None or not has_main(read_source(source)):
        return False
    if overrides != LaunchOverrides():
        raise UsageError(
            "sizes, defines, --sanitize and --against need a launch specification; this file has "
            "its own main() instead",
            where=str(source),
            hint="build the program yourself and profile it: kernelprof diagnose -- ./app args...",
        )
    return True


def _launched(
    source: Path,
    overrides: LaunchOverrides,
    folder: Path,
    interrupts: Interrupts,
    progress: Callable[[str], None],
) -> PreparedKernel:
    spec, name = overrides.specified(source), str(source)
    hashes = launch_hashes(source, spec)
    child_options = ["--cubin", str(folder / "kernel.cubin"), "--expect", hashes.digest()]
    if overrides.inferred is not None:
        written = folder / "specification.toml"
        written.write_text(overrides.inferred.toml, encoding="utf-8")
        child_options += ["--specification", str(written)]
    command = [sys.executable, *CHILD, name, *overrides.options(), *child_options]
    unclear = []
    for tool in overrides.sanitizers:
        progress(f"{source.name}: checking with {tool}")
        bare = ["--no-poison"] if tool == "initcheck" else []
        unclear.append(run_sanitizer(tool, [*command, "--only-check", *bare], name, interrupts))
    progress(f"{source.name}: compiling, checking and timing")
    trial = _trial(command, spec, name, folder / "trial.json", interrupts)
    for error in unclear:
        if error is not None:
            raise error
    now = overrides.specified(source)
    if launch_hashes(source, now) != hashes:
        raise changed_meanwhile(name)
    at, resources = spec.resolve(), trial.resources
    reported = {} if resources is None else asdict(resources)
    return PreparedKernel(
        target=name,
        command=tuple(command),
        source=SourceFacts(
            path=name,
            sha256=hashes.source,
            specification=spec.document(),
            specification_sha256=hashes.specification,
            compiler=_compiler(trial.compiler),
            compile_flags=trial.options,
            compile_sha256=hashes.compile,
            includes=dict(hashes.includes),
            resources={key: each for key, each in reported.items() if each is not None} or None,
            compiler_warnings=trial.compiler_warnings,
            inferred=overrides.remarks,
            options=tuple(overrides.command_options()),
        ),
        timing=timing_facts(
            trial.times_ns, warm_up=spec.launch.warmup, flops=at.flops, min_bytes=at.min_bytes
        ),
        correctness=correctness_facts(spec, trial.checked),
    )


def _trial(
    command: Sequence[str], spec: LaunchSpec, name: str, file: Path, interrupts: Interrupts
) -> Trial:
    launch = spec.launch
    limit = _COMPILE_LIMIT_S + (2 + launch.warmup + launch.measured) * launch.time_limit_s
    try:
        ended = processes.run([*command, "--trial", str(file)], interrupts, time_limit=limit)
    except processes.TimeLimitError as error:
        raise LaunchError(
            f"compiling, checking and timing the kernel took longer than {limit:g} s",
            where=name,
            hint="use smaller sizes or fewer launches, or raise [launch] time_limit_s (per launch)",
        ) from error
    trial = read_trial(file)
    if trial is None:
        raise LaunchError(
            f"the process that launches the kernel ended with exit code {ended.code}",
            where=name,
            hint=f"reproduce the error with: {shlex.join(command)}{last_lines(ended.printed)}",
        )
    if trial.error is not None:
        hint = f"{trial.error['hint'] or ''}{last_lines(ended.printed)}"
        trial.error["hint"] = hint or None
    trial.raise_error()
    return trial


def _compiler(version: str | None) -> str | None:
    return None if version is None else f"nvcc {version}"


def last_lines(printed: bytes) -> str:
    """Return the last lines of a process's output for a hint, or nothing."""
    text = real_names(printed.decode("utf-8", "replace"))
    lines = [line for line in text.splitlines() if line.strip()]
    shown = lines[-_LAST_LINES:]
    return "\n" + "\n".join(f"  {line}" for line in shown) if shown else ""


def _program(
    source: Path,
    folder: Path,
    interrupts: Interrupts,
    progress: Callable[[str], None],
    flags: Sequence[str],
) -> PreparedKernel:
    workshop, here = Workshop(folder), Path.cwd()
    options = ("-arch=native", "-O3", "-lineinfo")
    libraries, others = divide_linker_options(join_values(flags), here)
    given = resolve_folders(split_options(others), here)
    program, command = workshop.program(source, read_source(source), options, given, libraries)
    progress(f"{source.name}: compiling")
    ended = processes.run(
        command,
        interrupts,
        time_limit=_COMPILE_LIMIT_S,
        folder=workshop.build_folder,
        environment=workshop.environment(),
    )
    if ended.code != 0:
        raise compile_failure(source, real_names(ended.printed.decode("utf-8", "replace")))
    return PreparedKernel(
        target=str(source),
        command=(str(program),),
        source=SourceFacts(
            path=str(source),
            sha256=file_hash(source),
            compiler=_compiler(nvcc_version()),
            compile_flags=(*options, *flags),
            includes=dict(include_hashes(source)),
            options=("--flags", shlex.join(flags)) if flags else (),
        ),
    )


LIMIT_S: Final = 300.0
"""For arrays to be filled and for all launches of a question; each launch has its own limit."""


@contextmanager
def make_timer(prepared: PreparedKernel, interrupts: Interrupts) -> Iterator[Timer]:
    """Yield a function from sizes and a number of launches to times in nanoseconds.

    It raises :class:`LaunchError` for a failed launch, and cannot be used after that.
    """
    command = (*prepared.command, "--answer")
    with RequestWorker(command, interrupts) as worker:

        def times(sizes: Mapping[str, int], count: int) -> Sequence[float]:
            try:
                answer = worker.request({"sizes": dict(sizes), "count": count}, LIMIT_S)
            except WorkerEndedError as error:
                raise LaunchError(
                    f"timing the kernel failed: {error}",
                    where=prepared.target,
                    hint=f"reproduce the error with: {shlex.join(prepared.command)}"
                    f"{last_lines(error.printed)}",
                ) from error
            except TimeLimitError as error:
                raise LaunchError(
                    f"timing the kernel failed: {error.what}",
                    where=prepared.target,
                    hint="use smaller sizes, and stop other work on the GPU",
                ) from error
            Trial(error=answer.get("error")).raise_error()
            return [float(each) for each in answer["times_ns"]]

        yield times
