"""``kernelprof diagnose``: what limits the kernels of a capture."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line, show_reading
from kernelprof.errors import ExitCode, KernelprofError, UsageError
from kernelprof.interface.requests import MeasurementOptions, is_source
from kernelprof.model.kernel_name import name_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kernelprof.results import Diagnosis

ORDER = 10

_COMPLETE: Final = ("text", "brief")
"""Formats that have the warnings in them."""
_Answer = tuple[str, list[str], list[str], int]


@options.list_after(kernel="output_format", merge="tokens", html="flags")
def diagnose(
    ctx: typer.Context,
    *,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET",
            help="Captures: a directory written by `profile`, .csv (raw or details page), text "
            "output of ncu, .ncu-rep (each also as .gz), a folder of these, or - for stdin. "
            "Or one .cu file.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        options.preset_option(
            "Collect this preset of metrics in a single run; see `presets`. ncu commands in the "
            "output then collect the whole preset, not only missing metrics."
        ),
    ] = None,
    to: Annotated[
        output.Output,
        output.output_fields(
            "diagnosis",
            "Output format: text, brief, json, markdown or sarif.",
            *("top", "explain", "tokens", "no_color", "file", "html"),
        ),
    ],
    kernel: options.KernelOption = None,
    merge: Annotated[
        bool,
        typer.Option(
            "--merge",
            help="Merge captures of the same launches: later captures fill in missing metrics.",
        ),
    ] = False,
    measurement: Annotated[MeasurementOptions, options.Expand(options.MeasurementFlags)],
    predict: options.PredictOption = False,
    arch: options.ArchOption = None,
) -> None:
    """Name what limits each kernel of a capture, or of a program after `--`.

    A program is first surveyed at nearly full speed, to measure how busy the GPU is. Then ncu
    measures its costly kernels, with the metrics that their verdicts need. A .cu file is built,
    checked and timed first. Without a GPU, its recorded capture is used if one matches; otherwise
    the kernel is predicted. Exit code 3: at least one kernel is inconclusive; the output contains
    the ncu command that settles it.
    """
    from kernelprof.interface import captures
    from kernelprof.interface.inferred import kernels_to_diagnose
    from kernelprof.interface.prediction import recall_answer, unique_architectures
    from kernelprof.interface.requests import LAUNCH_OPTIONS, launch_overrides

    program = options.program(ctx)
    source = _check_targets(targets or [], program)
    arguments = program if source else None
    if source:
        program = None
    to.check()
    if LAUNCH_OPTIONS & measurement.keys():
        launch_overrides(measurement, has_source=source)
    cases: list[tuple[str | None, str | None]] = []
    if program is not None or source or predict or arch:
        measurement["samples"], measurement["arguments"] = source, arguments
        target = targets[0] if targets else None
        names: tuple[str | None, ...] = (kernel,)
        if target is not None and source and "keep" not in measurement:
            names = kernels_to_diagnose(target, kernel, predicted=predict or bool(arch))

        def run(name: str | None, arch: str | None) -> Diagnosis:
            return captures.diagnose(
                target,
                program=program,
                kernel=name,
                preset=preset,
                predict=predict,
                arch=arch,
                progress=progress_line(),
                **measurement,
            )

        cases += product(names, unique_architectures(arch) if predict or arch else (None,))

        def judge() -> tuple[list[Diagnosis], ExitCode]:
            return _diagnose_each(run, cases)
    else:
        _warn_about_unused(ctx)
        page = to.html is not None

        def judge() -> tuple[list[Diagnosis], ExitCode]:
            judged = _diagnose_captures(targets or [], preset, kernel, merge=merge, page=page)
            return judged, ExitCode.DONE

    diagnoses: list[Diagnosis] = []

    def write() -> _Answer:
        judged, code = judge()
        diagnoses.extend(judged)
        return _write_answer(judged, code, to)

    if targets and source and (predict or arch) and to.html is None and len(cases) == 1:
        request = [to.output_format, to.screen, to.file is None, to.top, to.explain, preset]
        answer = recall_answer(targets[0], cases[0], measurement, request, write)
    else:
        answer = write()
    text, remarks, warnings, exit_code = answer
    output.print_remarks(*remarks)
    for each in warnings:
        output.warn(each)
    output.write_result(text, to.file)
    if to.html is not None:
        output.write_page(diagnoses, to.html)
    if exit_code:
        raise typer.Exit(exit_code)


def _diagnose_each(
    run: Callable[[str | None, str | None], Diagnosis],
    cases: Iterable[tuple[str | None, str | None]],
) -> tuple[list[Diagnosis], ExitCode]:
    """Diagnose kernels of a source, each for each architecture, and print errors beside others."""
    (first, *more), diagnoses, errors = [*cases], [], []
    for name, arch in (first, *more):
        try:
            diagnoses.append(run(name, arch))
        except KernelprofError as error:
            errors.append(error)
            if not more or (len(errors) > len(more) and not diagnoses):
                raise
            output.print_error(f"{name}: {error.what}", where=error.where, hint=error.hint)
    return diagnoses, max((each.exit_code for each in errors), default=ExitCode.DONE)


def _diagnose_captures(
    targets: Sequence[str], preset: str | None, kernel: str | None, *, merge: bool, page: bool
) -> list[Diagnosis]:
    """One diagnosis a capture, or one of all; of several, some may have no such kernel."""
    from kernelprof.interface import captures
    from kernelprof.results import select_kernels

    if kernel is not None:
        name_pattern(kernel)
    with show_reading(captures.expand_folders(targets)) as meter:

        def one(target: str) -> Diagnosis:
            if page:
                return captures.diagnose_for_page(target, preset=preset, meter=meter)
            return captures.diagnose(target, preset=preset, whole=False, meter=meter)

        if merge:
            read = captures.each_capture(
                targets, lambda each: captures.read(each, meter=meter), output.print_remarks
            )
            together = captures.united(read, merge=True)
            diagnoses = [together.diagnose(preset=preset, meter=meter)]
        else:
            diagnoses = captures.each_capture(targets, one, output.print_remarks)
    return diagnoses if kernel is None else select_kernels(diagnoses, kernel)


def _check_targets(targets: Sequence[str], program: Sequence[str] | None) -> bool:
    if targets and program is not None and not (len(targets) == 1 and is_source(targets[0])):
        raise UsageError(
            "captures and a program cannot be diagnosed in one command",
            hint="name captures, or a program after --, but not both",
        )
    sources = [target for target in targets if is_source(target)]
    if sources and len(targets) > 1:
        raise UsageError(
            "a .cu file cannot be combined with other inputs",
            where=sources[0],
            hint="diagnose each .cu file on its own, without captures",
        )
    if not targets and program is None:
        raise UsageError(
            "there is nothing to diagnose",
            hint="name a capture: kernelprof diagnose capture.csv\n"
            "or a program: kernelprof diagnose -- ./app args...",
        )
    from kernelprof.interface.captures import refuse_stdin_twice

    refuse_stdin_twice(targets)
    return bool(sources)


def _warn_about_unused(ctx: typer.Context) -> None:
    given = [
        each.opts[0]
        for each in ctx.command.params
        if each.name in vars(options.MeasurementFlags)
        and ctx.params[str(each.name)] not in (each.default, [], ())
    ]
    if given:
        has = "has" if len(given) == 1 else "have"
        output.warn(
            f"{', '.join(given)} {has} no effect on existing captures, only on a program after -- "
            "or a .cu file"
        )


def _write_answer(diagnoses: Sequence[Diagnosis], code: ExitCode, to: output.Output) -> _Answer:
    """The text of a result, what to say beside it, and the exit code."""
    text = to.rendered(diagnoses, top=to.top, explain=to.explain)
    remarks = [line for each in diagnoses for line in each.capture.remarks]
    warnings: list[str] = []
    for each in diagnoses if to.file is not None or to.output_format not in _COMPLETE else ():
        warnings += [each.capture.origin] if each.capture.recorded else []
        warnings += [f"{each.origin}: {warning}" for warning in each.warnings]
    if code is ExitCode.DONE and any(each.inconclusive for each in diagnoses):
        code = ExitCode.INCONCLUSIVE
    return text, remarks, warnings, int(code)
