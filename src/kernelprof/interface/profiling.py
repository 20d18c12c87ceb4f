"""How something is measured: the options that functions which measure share."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, TypeGuard

from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import ProfileRequest


SOURCES: Final = (".cu", ".cuh")
"""Suffixes of what is built and launched, or predicted, instead of read."""


BUDGET_S: Final = 120.0
"""Seconds that measuring a surveyed program may take."""


def is_source(target: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether a target is one file to be built and launched, or predicted."""
    return isinstance(target, str | os.PathLike) and os.fspath(target).endswith(SOURCES)


class Profiling(TypedDict, total=False):
    """How something is measured.

    ``size``, ``define`` (``NAME=VALUE`` each), ``sanitize`` (tools of compute-sanitizer) and
    ``against`` (another version of the kernel, whose results are the reference) are for a source.
    ``keep`` is the capture directory to write, ``force`` replaces one. ``launch_skip``,
    ``launch_count`` and ``nvtx_include`` choose launches. ``clock_control`` is ``ncu``'s option,
    ``time_limit`` the seconds that one run may take. A program is surveyed first, and measuring it
    may then take ``budget`` seconds; ``None`` measures every launch, without a survey.
    ``arguments`` are for a source with its own ``main``, ``flags`` more options of ``nvcc`` for it,
    and ``build`` is run before a program is. ``progress`` shows what is being done.
    """

    size: Sequence[str] | None
    define: Sequence[str] | None
    sanitize: Sequence[str] | None
    against: str | os.PathLike[str] | None
    keep: str | os.PathLike[str] | None
    force: bool
    launch_skip: int | None
    launch_count: int | None
    nvtx_include: Sequence[str] | None
    clock_control: str
    time_limit: float | None
    samples: bool
    budget: float | None
    arguments: Sequence[str] | None
    flags: str | None
    build: str | None
    progress: Progress | None


def request(
    program: Sequence[str] | None,
    target: Any,
    kernel: str | None,
    options: Profiling,
    *,
    repeat: int = 1,
) -> ProfileRequest:
    """What is to be profiled and how, as plain values."""
    from kernelprof.collect.commands import DEFAULT_CLOCKS, Filters
    from kernelprof.collect.request import ProfileRequest
    from kernelprof.launch.overrides import overrides

    keep = options.get("keep")
    return ProfileRequest(
        application=tuple(program or ()),
        source=None if target is None else Path(target),
        overrides=overrides(
            options.get("size"),
            options.get("define"),
            options.get("sanitize"),
            has_source=target is not None,
            against=options.get("against"),
        ),
        keep=None if keep is None else Path(keep),
        force=options.get("force", False),
        filters=Filters(
            kernel,
            options.get("launch_skip"),
            options.get("launch_count"),
            tuple(options.get("nvtx_include") or ()),
        ),
        clock_control=options.get("clock_control", DEFAULT_CLOCKS),
        time_limit=options.get("time_limit"),
        samples=options.get("samples", False),
        repeat=repeat,
        budget=options.get("budget", BUDGET_S),
        arguments=tuple(options.get("arguments") or ()),
        flags=words(options.get("flags"), "options of nvcc"),
        build=words(options.get("build"), "the command that builds the program"),
    )


def words(text: str | None, what: str) -> tuple[str, ...]:
    """A text as words, as a shell parts them; nothing else in it means anything."""
    try:
        return tuple(shlex.split(text or ""))
    except ValueError as error:
        raise UsageError(f"{what}: {error}", where=text, hint="close the quotes") from error
