"""Captures: read, diagnosed, measured and profiled, one or several at a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, Unpack, overload

from kernelprof.errors import InputError, MissingToolError, UsageError
from kernelprof.interface.requests import (
    MeasurementOptions,
    ProfileOptions,
    is_source,
    profile_request,
)
from kernelprof.model.names import first_few
from kernelprof.model.numbers import count
from kernelprof.results import Capture, Diagnosis, Meter, PathLike, as_result, select_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.collect.request import ProfileRequest
    from kernelprof.model.capture import Capture as Launched

    Item = TypeVar("Item")

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
    refuse_stdin_twice(targets)
    return united([_read(os.fspath(each), metrics, meter) for each in targets], merge=merge)


def refuse_stdin_twice(targets: Sequence[PathLike]) -> None:
    """Refuse captures of which more than one is standard input."""
    if [os.fspath(each) for each in targets].count(STDIN) > 1:
        raise UsageError("standard input can be read only once", hint="give '-' only once")


def united(captures: Sequence[Capture], *, merge: bool = False) -> Capture:
    """Captures one after the other, or with ``merge`` as one of the same launches."""
    if len(captures) == 1:
        return captures[0]
    from kernelprof.model import merge as several
    from kernelprof.sources.source import Contents

    whole: Launched = captures[0]
    for each in captures[1:]:
        whole = several.merge_metrics(whole, each) if merge else several.join(whole, each)
    # What the first has of the whole program is as true with more metrics of its launches.
    survey = captures[0].contents.survey if merge else None
    return as_result(Capture, whole, contents=Contents(Path(), survey=survey))


def _read(target: str, metrics: Container[str] | None, meter: Meter | None) -> Capture:
    from kernelprof.sources import read_capture
    from kernelprof.sources.capture_directory import read_contents

    size = file_size(target)
    name = Path(target).name
    progress = None if meter is None else meter.steps(f"reading {name}", size, "bytes")
    capture = read_capture(target, only=metrics, progress=progress)
    return as_result(Capture, capture, contents=read_contents(target))


def file_size(target: str) -> int:
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
    progress: Progress | None = None,
    **options: Unpack[MeasurementOptions],
) -> Diagnosis:
    """What limits each kernel of a capture, of a ``.cu`` file, or of a ``program``.

    A source is built, checked, timed and measured; without a GPU its recorded capture is taken, if
    there is one of just this kernel, else it is predicted, if what that needs is installed. With
    ``predict`` it is predicted anyway, for the architecture ``arch``. A program is measured in as
    many runs as the verdicts need, or in one with ``preset``. ``kernel`` is a regular expression
    for the names of kernels. Without ``whole`` only metrics that verdicts rest on are read of a raw
    page, which is faster. ``progress`` shows what is being done.
    """
    if isinstance(target, Capture):
        return target.diagnose(kernel, preset=preset, meter=meter)
    if predict or arch is not None:
        from kernelprof.interface.prediction import diagnose_prediction

        request = profile_request(None, target, kernel, options)
        return diagnose_prediction(request, preset, progress, arch)
    if program is not None or is_source(target):
        request = profile_request(program, target, kernel, options)
        return _diagnose_measured(request, preset, progress)
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
    if file_size(os.fspath(target)) >= _LONG:
        from kernelprof.report.documents.metrics import MOST_WITH_ALL, OfManyKernels

        brief = read(target, metrics=OfManyKernels(), meter=meter).diagnose(preset=preset)
        if len(brief.kernels) > MOST_WITH_ALL:
            return brief
    return diagnose(target, preset=preset, meter=meter)


def _diagnose_measured(
    request: ProfileRequest, preset: str | None, progress: Progress | None
) -> Diagnosis:
    from kernelprof.collect.request import NotMeasurableError
    from kernelprof.collect.session import measure_for_diagnosis
    from kernelprof.interface.inferred import (
        explaining_inferred,
        qualify_verdicts,
        with_inferred_launch,
    )
    from kernelprof.report.measurement import summarize_measurement
    from kernelprof.sources.capture_directory import make_contents

    inferred = with_inferred_launch(request, progress)
    try:
        with explaining_inferred(inferred.overrides, request.source or ""):
            measured = measure_for_diagnosis(inferred, preset, progress)
    except NotMeasurableError as error:
        from kernelprof.interface.prediction import diagnose_instead

        return diagnose_instead(error, request, preset, progress)
    capture = as_result(
        Capture,
        measured.capture,
        contents=make_contents(request.source or Path(), measured.manifest, measured.lines),
        remarks=tuple(summarize_measurement(measured)),
        recorded=measured.recorded,
    )
    from kernelprof.analysis.verdict import diagnose as judge

    judged = measured.diagnosis or judge(capture, preset=preset)
    result = qualify_verdicts(as_result(Diagnosis, judged, capture=capture, origin=capture.origin))
    kernel = request.filters.kernel
    if kernel is None or capture.inferred or not result.kernels:
        return result
    return select_kernels([result], kernel)[0]


@overload
def profile(
    target: PathLike | None = None,
    output: PathLike | None = None,
    *,
    repeat: None = None,
    **options: Unpack[ProfileOptions],
) -> Capture: ...


@overload
def profile(
    target: PathLike | None = None,
    output: PathLike | None = None,
    *,
    repeat: int,
    **options: Unpack[ProfileOptions],
) -> tuple[Capture, ...]: ...


def profile(
    target: PathLike | None = None,
    output: PathLike | None = None,
    *,
    repeat: int | None = None,
    **options: Unpack[ProfileOptions],
) -> Capture | tuple[Capture, ...]:
    """Measure a ``.cu`` file or a ``program`` with one preset, and keep a capture directory.

    ``output`` is the directory. With ``repeat`` that many captures are made, each of a process of
    its own, and returned in their order: from two on ``output`` is a folder with the captures
    ``1``, ``2`` and so on, which is there only when all of them are complete. Raises
    :class:`MissingToolError` where the machine lacks a GPU, ``ncu`` or a permission.
    """
    program, kernel = options.get("program"), options.get("kernel")
    progress = options.get("progress")
    if output is None:
        raise UsageError("no output directory is named", hint="name a directory as the output")
    if (target is None) == (program is None):
        what = "there is nothing to profile"
        if target is not None:
            what = "a file and a program cannot be profiled in one command"
        raise UsageError(
            what,
            hint="name a program after --: kernelprof profile -o DIR -- ./app args...\n"
            "or a .cu file: kernelprof profile kernel.cu -o DIR",
        )
    if target is not None and not is_source(target):
        raise UsageError(
            "only a .cu file or a program can be profiled",
            where=os.fspath(target),
            hint=f"a program goes after --: kernelprof profile -o {output} -- {target}",
        )
    from kernelprof.collect.session import profile as run
    from kernelprof.interface.inferred import explaining_inferred, with_inferred_launch
    from kernelprof.model.kernel_name import name_pattern
    from kernelprof.report.measurement import manifest_remarks

    if kernel is not None:
        name_pattern(kernel)
    times = 1 if repeat is None else repeat
    if times < 1:
        raise UsageError(f"{times} is not a valid number of captures", hint="request at least one")
    options = {**options, "keep": Path(output), "budget": None}
    request = profile_request(program, target, kernel, options, repeat=times)
    request = with_inferred_launch(request, progress)
    with explaining_inferred(request.overrides, target or ""):
        manifests = run(request, options.get("preset", "full"), progress)
    places = [Path(output)]
    if request.several:
        places = [Path(output) / str(number) for number in range(1, times + 1)]
    captures = tuple(
        as_result(Capture, read(folder), remarks=tuple(manifest_remarks(made)))
        for folder, made in zip(places, manifests, strict=True)
    )
    return captures[0] if repeat is None else captures


_MOST_NAMES: Final = 3
_ONLY_CAPTURES: Final = (".csv", ".ncu-rep")
"""What nobody puts into a folder of captures without meaning it."""


def expand_folders(targets: Iterable[str]) -> list[str]:
    """The targets, with all that a folder holds in its place; for whoever shows how far it is."""
    from kernelprof.sources.ncu.folder import is_folder, list_entries

    return [
        str(each)
        for target in targets
        for each in (list_entries(Path(target)) if is_folder(target) else [target])
    ]


def each_capture(
    targets: Sequence[str],
    read_item: Callable[[str], Item],
    note: Callable[[str], object] = lambda _: None,
    *,
    strict: bool = False,
) -> list[Item]:
    """What ``read_item`` gives for each target, and for each capture in a target that is a folder.

    Files in a folder that are no capture are left out, and ``note`` gets one line for each folder
    that has some; with ``strict`` a capture directory or an export that cannot be read is an error
    all the same. Raises :class:`InputError` for a target that is no capture, and for a folder
    without any; :class:`MissingToolError` for one where only a tool is missing that reads them.
    """
    from kernelprof.sources.ncu.folder import is_folder

    items: list[Item] = []
    for target in targets:
        if is_folder(target):
            items += _in_folder(Path(target), read_item, note, strict=strict)
        else:
            items.append(read_item(target))
    return items


def _in_folder(
    folder: Path,
    read_item: Callable[[str], Item],
    note: Callable[[str], object],
    *,
    strict: bool,
) -> list[Item]:
    from kernelprof.sources.ncu.folder import DEPTH, list_entries, may_be_capture

    items: list[Item] = []
    left_out: list[str] = []
    lacking: MissingToolError | None = None
    for each in list_entries(folder):
        name = each.relative_to(folder).as_posix()
        if not (each.is_dir() or may_be_capture(each.name)):
            left_out.append(name)
            continue
        try:
            items.append(read_item(str(each)))
        except InputError as error:
            if strict and (
                each.is_dir() or each.name.lower().removesuffix(".gz").endswith(_ONLY_CAPTURES)
            ):
                raise
            # A capture directory is not there by chance: what is wrong with it matters.
            left_out.append(f"{name} ({error})" if each.is_dir() else name)
        except MissingToolError as error:
            lacking = error
            left_out.append(f"{name} ({error})")
    if lacking is not None and not items:
        raise lacking
    if not items:
        others = f"; it contains {count(len(left_out), 'other file')}" if left_out else ""
        raise InputError(
            f"there is no readable capture in this folder (searched {DEPTH} levels deep){others}",
            where=str(folder),
            hint="name a capture or a folder of captures (CSV or text output of ncu, .ncu-rep "
            "reports, or directories that 'kernelprof profile' wrote)",
        )
    if left_out:
        note(
            f"{folder}: {count(len(left_out), 'file')} left out (not readable as captures): "
            f"{first_few(left_out, _MOST_NAMES)}"
        )
    return items
