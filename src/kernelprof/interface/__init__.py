"""What ``import kernelprof`` offers, and all that the command line calls.

Every function takes plain values and returns a result (:mod:`kernelprof.results`) or another plain
value; none prints, and none ends the process. Errors are :class:`kernelprof.KernelprofError`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack, overload

from kernelprof.errors import UsageError
from kernelprof.interface.profiling import Profiling, is_source, request
from kernelprof.results import Capture, Diagnosis, Meter, PathLike, as_result, only

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from kernelprof.model.capture import Capture as Launched

STDIN: Final = "-"

_LONG: Final = 4 << 20
"""Bytes from which a capture is read for a page of many kernels first."""


def read(
    paths: PathLike | Sequence[PathLike],
    *,
    merge: bool = False,
    metrics: Container[str] | None = None,
    meter: Meter | None = None,
) -> Capture:
    """The capture in an export, a report or a capture directory; ``-`` is standard input.

    The launches of several paths come one after the other; with ``merge`` the paths are captures of
    the same launches, and later ones fill what the first lacks. ``metrics`` are the names to keep
    of a raw page, ``None`` for all. ``meter`` is told how much of long files was read.
    Raises :class:`InputError` for what is not a capture.
    """
    targets = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not targets:
        raise UsageError("there is nothing to read", hint="name a capture")
    if [os.fspath(each) for each in targets].count(STDIN) > 1:
        raise UsageError("standard input can be read once", hint="give - once")
    return united([_read(os.fspath(each), metrics, meter) for each in targets], merge=merge)


def united(captures: Sequence[Capture], *, merge: bool = False) -> Capture:
    """Captures one after the other, or with ``merge`` as one of the same launches."""
    if len(captures) == 1:
        return captures[0]
    from kernelprof.model import merge as several
    from kernelprof.sources.source import Contents

    whole: Launched = captures[0]
    for each in captures[1:]:
        whole = several.merge(whole, each) if merge else several.join(whole, each)
    # What the first has of the whole program is as true with more metrics of its launches.
    survey = captures[0].contents.survey if merge else None
    return as_result(Capture, whole, contents=Contents(Path(), survey=survey))


def _read(target: str, metrics: Container[str] | None, meter: Meter | None) -> Capture:
    from kernelprof.sources import read_capture
    from kernelprof.sources.capture_directory import contents

    size = size_of(target)
    name = Path(target).name
    progress = None if meter is None else meter.steps(f"reading {name}", size, "bytes")
    capture = read_capture(target, only=metrics, progress=progress)
    return as_result(Capture, capture, contents=contents(target))


def size_of(target: str) -> int:
    """The bytes of a file, 0 where they are not known."""
    try:
        return Path(target).stat().st_size if target != STDIN else 0
    except OSError:
        return 0


def diagnose(
    target: PathLike | Sequence[PathLike] | Capture | None = None,
    *,
    program: Sequence[str] | None = None,
    kernel: str | None = None,
    preset: str | None = None,
    merge: bool = False,
    whole: bool = True,
    meter: Meter | None = None,
    predict: bool = False,
    arch: str | None = None,
    **profiling: Unpack[Profiling],
) -> Diagnosis:
    """What limits each kernel of a capture, of a ``.cu`` file, or of a ``program``.

    A source is built, checked, timed and measured; without a GPU its recorded capture is taken, if
    there is one of just this kernel, else it is predicted, if what that needs is installed. With
    ``predict`` it is predicted anyway, for the architecture ``arch``. A program is measured in as
    many runs as the verdicts need, or in one with ``preset``. ``kernel`` is a regular expression
    for the names of kernels. Without ``whole`` only metrics that verdicts rest on are read of a raw
    page, which is faster.
    """
    if isinstance(target, Capture):
        return target.diagnose(kernel, preset=preset, meter=meter)
    if predict or arch is not None:
        from kernelprof.interface.prediction import diagnose as predicted

        return predicted(target, arch, kernel, preset, profiling)
    if program is not None or is_source(target):
        return _measured(program, target, kernel, preset, profiling)
    if target is None:
        raise UsageError("there is nothing to diagnose", hint="name a capture or a program")
    from kernelprof.analysis.metrics.catalogue import names_read
    from kernelprof.analysis.metrics.catalogue import preset as known_preset

    if preset is not None:
        known_preset(preset)
    capture = read(target, merge=merge, metrics=None if whole else names_read(), meter=meter)
    return capture.diagnose(kernel, preset=preset, meter=meter)


def diagnose_for_page(
    target: PathLike, *, preset: str | None = None, meter: Meter | None = None
) -> Diagnosis:
    """A diagnosis with the metrics that its page shows.

    A long capture most often has many kernels, whose tables leave most metrics out: then they are
    not read.
    """
    if size_of(os.fspath(target)) >= _LONG:
        from kernelprof.report.documents.metrics import MOST_WITH_ALL, OfManyKernels

        brief = read(target, metrics=OfManyKernels(), meter=meter).diagnose(preset=preset)
        if len(brief.kernels) > MOST_WITH_ALL:
            return brief
    return diagnose(target, preset=preset, meter=meter)


def check_overrides(
    size: Sequence[str] | None,
    define: Sequence[str] | None,
    sanitize: Sequence[str] | None,
    *,
    has_source: bool,
    against: PathLike | None = None,
) -> None:
    """Refuse changes of a launch that are wrong, or for which there is no source to build."""
    if size or define or sanitize or against is not None:
        from kernelprof.launch.overrides import overrides

        overrides(size, define, sanitize, has_source=has_source, against=against)


def _measured(
    program: Sequence[str] | None,
    target: Any,
    kernel: str | None,
    preset: str | None,
    profiling: Profiling,
) -> Diagnosis:
    from kernelprof.collect.request import NotMeasurableError
    from kernelprof.collect.session import measure
    from kernelprof.interface.inferred import asked_about, qualified, with_launch_of
    from kernelprof.report.measurement import summary
    from kernelprof.sources.capture_directory import contents_of

    progress = profiling.get("progress")
    wanted = request(program, target, kernel, profiling)
    if target is not None:
        wanted = with_launch_of(wanted, kernel, progress)
    try:
        with asked_about(wanted.overrides, target or ""):
            found = measure(wanted, preset, progress)
    except NotMeasurableError as error:
        from kernelprof.interface.prediction import diagnose_instead

        return diagnose_instead(error, target, kernel, preset, profiling)
    place = Path("" if target is None else os.fspath(target))
    capture = as_result(
        Capture,
        found.capture,
        contents=contents_of(place, found.manifest, found.lines),
        remarks=tuple(summary(found)),
        recorded=found.recorded,
    )
    from kernelprof.analysis.verdict import diagnose as judge

    judged = found.diagnosis or judge(capture, preset=preset)
    result = qualified(as_result(Diagnosis, judged, capture=capture, origin=capture.origin))
    if kernel is None or capture.inferred or not result.kernels:
        return result
    return only([result], kernel)[0]


@overload
def profile(
    target: PathLike | None = None,
    output: PathLike | None = None,
    *,
    program: Sequence[str] | None = None,
    preset: str = "full",
    kernel: str | None = None,
    repeat: None = None,
    **profiling: Unpack[Profiling],
) -> Capture: ...


@overload
def profile(
    target: PathLike | None = None,
    output: PathLike | None = None,
    *,
    program: Sequence[str] | None = None,
    preset: str = "full",
    kernel: str | None = None,
    repeat: int,
    **profiling: Unpack[Profiling],
) -> tuple[Capture, ...]: ...


def profile(
    target: PathLike | None = None,
    output: PathLike | None = None,
    *,
    program: Sequence[str] | None = None,
    preset: str = "full",
    kernel: str | None = None,
    repeat: int | None = None,
    **profiling: Unpack[Profiling],
) -> Capture | tuple[Capture, ...]:
    """Measure a ``.cu`` file or a ``program`` with one preset, and keep a capture directory.

    ``output`` is the directory. With ``repeat`` that many captures are made, each of a process of
    its own, and returned in their order: from two on ``output`` is a folder with the captures
    ``1``, ``2`` and so on, which is there only when all of them are complete. Raises
    :class:`MissingToolError` where the machine lacks a GPU, ``ncu`` or a permission.
    """
    if output is None:
        raise UsageError("there is no directory to write to", hint="name one as the output")
    if (target is None) == (program is None):
        what = "there is nothing to profile" if target is None else "a file and a program are given"
        raise UsageError(
            what,
            hint="name a program after --: kernelprof profile -o DIR -- ./app args...\n"
            "or a .cu file: kernelprof profile kernel.cu -o DIR",
        )
    if target is not None and not is_source(target):
        raise UsageError(
            "only a .cu file or a program can be profiled",
            where=os.fspath(target),
            hint=f"a program stands after --: kernelprof profile -o {output} -- {target}",
        )
    from kernelprof.collect.session import profile as run
    from kernelprof.interface.inferred import asked_about, with_launch_of
    from kernelprof.report.measurement import told

    if kernel is not None:
        from kernelprof.model.kernel_name import name_pattern

        name_pattern(kernel)
    times = 1 if repeat is None else repeat
    if times < 1:
        raise UsageError(f"{times} captures cannot be made", hint="repeat it at least once")
    profiling = {**profiling, "keep": Path(output), "budget": None}
    progress = profiling.get("progress")
    wanted = request(program, target, kernel, profiling, repeat=times)
    if target is not None:
        wanted = with_launch_of(wanted, kernel, progress)
    with asked_about(wanted.overrides, target or ""):
        manifests = run(wanted, preset, progress)
    places = [Path(output)]
    if wanted.several:
        places = [Path(output) / str(number) for number in range(1, times + 1)]
    found = tuple(
        as_result(Capture, read(place), remarks=tuple(told(made)))
        for place, made in zip(places, manifests, strict=True)
    )
    return found[0] if repeat is None else found
