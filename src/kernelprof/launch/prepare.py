"""From a source to a command that ``ncu`` can run: built, checked and timed before.

A source with a launch specification is launched by ``launch/child.py``; one with its own ``main``
is compiled to a program.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.collect import processes
from kernelprof.collect.source import Prepared, Wishes
from kernelprof.errors import UsageError
from kernelprof.launch import changes
from kernelprof.launch.build import compile_failure
from kernelprof.launch.hashes import (
    changed_meanwhile,
    file_hash,
    include_hashes,
    launch_hashes,
)
from kernelprof.launch.nvcc import find_nvcc, nvcc_version
from kernelprof.launch.read_spec import load_spec
from kernelprof.launch.sanitizer import sanitize
from kernelprof.launch.signature import has_main
from kernelprof.launch.source import find_block, read_source
from kernelprof.launch.spec import NO_REFERENCE
from kernelprof.launch.timing import timing_facts
from kernelprof.launch.trial import LaunchError, Trial, read_trial
from kernelprof.model.manifest import CorrectnessFacts, SourceFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.collect.interrupts import Interrupts
    from kernelprof.launch.hashes import LaunchHashes
    from kernelprof.launch.spec import LaunchSpec

CHILD = ("-P", "-m", "kernelprof.launch.child")
"""How Python runs the child process; ``-P`` keeps files of the user's folder out of its imports."""

_COMPILE_LIMIT_S = 600.0
_LAST_LINES = 12


@contextmanager
def prepare(
    source: Path, wishes: Wishes, interrupts: Interrupts, tell: Callable[[str], None]
) -> Iterator[Prepared]:
    """Prepare a source; what was built is gone when the context ends."""
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as folder:
        if is_program(source, wishes):
            yield _program(source, Path(folder), interrupts, tell)
        else:
            yield _Source(source, wishes, Path(folder), interrupts, tell).prepared()


def is_program(source: Path, wishes: Wishes) -> bool:
    """Whether a source is built with its own ``main``; wishes for a launch are then refused."""
    if find_block(source) is not None or not has_main(read_source(source)):
        return False
    if wishes != Wishes():
        raise UsageError(
            "sizes, defines and sanitizers need a launch specification, and this is a program",
            where=str(source),
            hint="build it as you like, and profile it: kernelprof diagnose -- ./app args...",
        )
    return True


class _Source:
    """A source with a launch specification."""

    def __init__(
        self,
        source: Path,
        wishes: Wishes,
        folder: Path,
        interrupts: Interrupts,
        tell: Callable[[str], None],
    ) -> None:
        self.source = source
        self.wishes = wishes
        self.folder = folder
        self.interrupts = interrupts
        self.tell = tell
        self.spec = changed(load_spec(source), wishes, source)
        self.hashes = launch_hashes(source, self.spec)
        self.name = str(source)

    def prepared(self) -> Prepared:
        """Check, time, and say how it is launched."""
        unclear = []
        for tool in self.wishes.sanitizers:
            self.tell(f"{self.source.name}: checking with {tool}")
            bare = ["--no-poison"] if tool == "initcheck" else []
            command = self.command("--only-check", *bare)
            unclear.append(sanitize(tool, command, self.name, self.interrupts))
        self.tell(f"{self.source.name}: compiling, checking and timing")
        trial = self._trial()
        for error in unclear:
            if error is not None:
                raise error
        now = changed(load_spec(self.source), self.wishes, self.source)
        if launch_hashes(self.source, now) != self.hashes:
            raise changed_meanwhile(self.name)
        at = self.spec.resolve()
        return Prepared(
            target=self.name,
            command=tuple(self.command()),
            source=_facts(self.name, self.spec, self.hashes, trial),
            timing=timing_facts(
                trial.times_ns,
                warm_up=self.spec.launch.warmup,
                flops=at.flops,
                min_bytes=at.min_bytes,
            ),
            correctness=_correctness(self.spec, trial),
        )

    def command(self, *more: str) -> list[str]:
        """The command that launches the kernel."""
        changed = changes.arguments(self.wishes.sizes, self.wishes.defines)
        cubin = str(self.folder / "kernel.cubin")
        kept = ["--cubin", cubin, "--expect", self.hashes.digest()]
        return [sys.executable, *CHILD, self.name, *changed, *kept, *more]

    def _trial(self) -> Trial:
        """Run the child process; what it found out, if the kernel is fine."""
        file = self.folder / "trial.json"
        launch = self.spec.launch
        limit = _COMPILE_LIMIT_S + (2 + launch.warmup + launch.measured) * launch.time_limit_s
        command = self.command("--trial", str(file))
        try:
            ended = processes.run(command, self.interrupts, time_limit=limit)
        except processes.TimeLimitError as error:
            raise LaunchError(
                f"compiling, checking and timing the kernel took longer than {limit:g} s",
                where=self.name,
                hint="give it smaller sizes or fewer launches; [launch] time_limit_s is for each",
            ) from error
        trial = read_trial(file)
        if trial is None:
            raise LaunchError(
                f"the process that launches the kernel ended with exit code {ended.code}",
                where=self.name,
                hint=f"run it by itself: {shlex.join(self.command())}{last_lines(ended.printed)}",
            )
        if trial.error is not None:
            hint = f"{trial.error['hint'] or ''}{last_lines(ended.printed)}"
            trial.error["hint"] = hint or None
        trial.raise_error()
        return trial


def changed(spec: LaunchSpec, wishes: Wishes, source: Path) -> LaunchSpec:
    """The specification with the wishes in it; a name that it does not know is refused.

    A misspelt size would change nothing, and nobody would see it.
    """
    for option, given, known in (
        ("--size", wishes.sizes, spec.sizes),
        ("--define", wishes.defines, spec.compile.defines),
    ):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise UsageError(
                f"{option} {unknown[0]}: the launch specification has no such name",
                where=str(source),
                hint=f"it has: {', '.join(known) or 'none'}",
            )
    found = spec.changed(sizes=wishes.sizes, defines=wishes.defines)
    found.resolve()
    found.resolve(found.check_sizes)
    return found


def _facts(name: str, spec: LaunchSpec, hashes: LaunchHashes, trial: Trial) -> SourceFacts:
    return SourceFacts(
        path=name,
        sha256=hashes.source,
        specification=spec.document(),
        specification_sha256=hashes.specification,
        compiler=_compiler(trial.compiler),
        compile_flags=trial.options,
        compile_sha256=hashes.compile,
        includes=dict(hashes.includes),
        resources=None if trial.resources is None else asdict(trial.resources),
    )


def _compiler(version: str | None) -> str | None:
    return None if version is None else f"nvcc {version}"


def _correctness(spec: LaunchSpec, trial: Trial) -> CorrectnessFacts | None:
    if spec.reference == NO_REFERENCE:
        return None
    return CorrectnessFacts(
        passed=True,
        reference=spec.reference,
        largest_error=max((each.error for each in trial.checked), default=None),
        tolerance=spec.check.tolerance,
        sizes=spec.check_sizes,
    )


def last_lines(printed: bytes) -> str:
    """What a process printed last, to show below a message; empty where it was nothing."""
    lines = [line for line in printed.decode("utf-8", "replace").splitlines() if line.strip()]
    shown = lines[-_LAST_LINES:]
    return "\n" + "\n".join(f"  {line}" for line in shown) if shown else ""


def _program(
    source: Path, folder: Path, interrupts: Interrupts, tell: Callable[[str], None]
) -> Prepared:
    """Compile a source with its own ``main`` for the GPU that is here."""
    nvcc = find_nvcc()
    options = ("-arch=native", "-O3", "-lineinfo")
    program = folder / source.stem
    tell(f"{source.name}: compiling")
    ended = processes.run(
        [nvcc, *options, "-o", str(program), str(source)],
        interrupts,
        time_limit=_COMPILE_LIMIT_S,
    )
    if ended.code != 0:
        raise compile_failure(source, ended.printed.decode("utf-8", "replace"))
    return Prepared(
        target=str(source),
        command=(str(program),),
        source=SourceFacts(
            path=str(source),
            sha256=file_hash(source),
            compiler=_compiler(nvcc_version()),
            compile_flags=options,
            includes=dict(include_hashes(source)),
        ),
    )
