"""``kernelprof gate``: stop a change that makes a bottleneck worse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelprof.cli.compare import screen_of, typed_command, write_page
from kernelprof.cli.diagnose import OutputFormat
from kernelprof.cli.output import check_place, write_file, write_result, write_text
from kernelprof.cli.report import check_name
from kernelprof.errors import UsageError

if TYPE_CHECKING:
    from kernelprof.model.gate import GateResult


def gate(
    baseline: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE", help="A file of `baseline save`, or anything that `compare` takes."
        ),
    ],
    candidate: Annotated[
        list[str],
        typer.Argument(
            metavar="CANDIDATE", help="The capture to judge; with --calibrate several of one code."
        ),
    ],
    *,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="TOML; without it the table tool.kernelprof.gate of a pyproject.toml here.",
        ),
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="How to write the answer.")
    ] = OutputFormat.TEXT,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write into this file.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write JUnit XML.")
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Also write SARIF 2.1.0.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Also write a pull-request comment."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write the comparison for a browser."),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Measure the noise between the baseline and captures of the same code, and keep "
            "it in the baseline file.",
        ),
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour.")] = False,
) -> None:
    """Judge a candidate against a baseline by time, exact counters and verdict.

    Exit codes: 0 pass, 1 regression, 3 inconclusive (which fails unless the policy lets it pass).
    """
    if calibrate:
        files = (output, junit, sarif, markdown, html, policy)
        if any(file is not None for file in files):
            raise UsageError("--calibrate judges nothing", hint="leave out files and --policy")
        _calibrate(Path(baseline), candidate)
        return
    if len(candidate) != 1:
        raise UsageError(
            f"{len(candidate)} candidates are given, and one is judged at a time",
            hint="several captures of one code are for --calibrate",
        )
    from kernelprof.compare.gate.run import gate as judged

    if html is not None:
        check_name(html)
    for place in filter(None, (output, junit, sarif, markdown, html)):
        check_place(place)
    result = judged(baseline, candidate[0], policy)
    _write_files(result, junit, sarif, markdown)
    if html is not None:
        from kernelprof.report.documents import gate as documents
        from kernelprof.report.documents.comparison import Detail

        command = typed_command("gate", baseline, candidate[0])
        write_page(documents.document(result, Detail.FULL, command=command), html)
    text = _render(result, output_format, output, no_color=no_color)
    write_result(text, output)
    raise typer.Exit(result.exit_code)


def _calibrate(baseline: Path, captures: list[str]) -> None:
    from kernelprof.compare.gate.baseline import to_text
    from kernelprof.compare.gate.run import calibrate

    check_place(baseline)
    found, without = calibrate(baseline, captures)
    write_file(to_text(found), baseline)
    for kernel in found.kernels:
        if kernel.noise is not None:
            varying = f"; varies: {', '.join(kernel.noise.varying)}" if kernel.noise.varying else ""
            write_text(
                f"{kernel.name}: medians up to {100 * kernel.noise.floor:.3g} % apart over "
                f"{kernel.noise.captures} captures{varying}\n"
            )
    for name in without:
        write_text(f"{name}: not in enough of these captures; its noise stays unknown\n")


def _write_files(
    result: GateResult,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
) -> None:
    if junit is not None:
        from kernelprof.report.writers.junit import write as write_junit

        write_file(write_junit(result), junit)
    if sarif is not None:
        from kernelprof.report.writers.sarif import write as write_sarif

        write_file(write_sarif(result, _lines(result)), sarif)
    if markdown is not None:
        write_file(_markdown(result), markdown)


def _lines(result: GateResult) -> dict[str, int]:
    """The line at which each kernel of a known source is defined, by the kernel's name."""
    from kernelprof.launch.signature import kernels
    from kernelprof.model.kernel_name import function_name

    found: dict[str, int] = {}
    texts = result.comparison.after.sources
    for each in result.comparison.kernels:
        inputs = each.after.inputs if each.after is not None else None
        text = texts.get(inputs.source_sha256) if inputs is not None else None
        if text is None:
            continue
        for kernel in kernels(text):
            if kernel.name.rpartition("::")[2] == function_name(each.name):
                found[each.name] = kernel.line
    return found


def _render(
    result: GateResult, output_format: OutputFormat, output: Path | None, *, no_color: bool
) -> str:
    if output_format is OutputFormat.JSON:
        from kernelprof.report.writers import json

        return json.write(result)
    if output_format is OutputFormat.MARKDOWN:
        return _markdown(result)
    from kernelprof.report.documents import gate as documents
    from kernelprof.report.writers import terminal

    return terminal.write(documents.document(result), screen_of(output, no_color=no_color))


def _markdown(result: GateResult) -> str:
    from kernelprof.report.documents import gate as documents
    from kernelprof.report.documents.comparison import Detail
    from kernelprof.report.writers import markdown

    return markdown.write(documents.document(result, Detail.COMMENT))
