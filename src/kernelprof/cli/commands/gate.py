"""``kernelprof gate``: stop a change that makes a bottleneck worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelprof.cli import options, output
from kernelprof.cli.progress import progress_line
from kernelprof.errors import UsageError
from kernelprof.interface import baselines, changes

ORDER = 50


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
            metavar="CANDIDATE",
            help="The capture to judge; several, or a folder of them, are runs of the same code. "
            "Or .cu files, which are predicted.",
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
    proposed_baseline: Annotated[
        Path | None,
        typer.Option(
            "--proposed-baseline",
            metavar="FILE",
            help="What the change would put in place of BASELINE: compared with it, not believed.",
        ),
    ] = None,
    proposed_policy: Annotated[
        Path | None,
        typer.Option(
            "--proposed-policy",
            metavar="FILE",
            help="The same for the policy. A difference is exit code 3.",
        ),
    ] = None,
    accept_proposed: Annotated[
        bool,
        typer.Option(
            "--accept-proposed", help="Judge by the proposed two, and say what they change."
        ),
    ] = False,
    output_format: Annotated[
        str,
        options.format_option(
            "gate", "text, brief, json, junit, markdown or sarif: how to write it."
        ),
    ] = "text",
    tokens: options.TokensOption = None,
    file: options.OutputOption = None,
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
    html: options.HtmlOption = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Measure the noise between the baseline and captures of the same code, and keep "
            "it in the baseline file.",
        ),
    ] = False,
    kernel: options.KernelsOption = None,
    rename: options.RenameOption = None,
    predict: options.PredictOption = False,
    arch: options.ArchOption = None,
    against: options.AgainstOption = None,
    no_color: options.NoColorOption = False,
) -> None:
    """Judge a candidate against a baseline by time, exact counters and verdict.

    With --predict two .cu files are judged by what they count, without a GPU; so are the candidates
    of a baseline that `baseline save --predict` made.

    Exit codes: 0 pass, 1 regression, 3 inconclusive (which fails unless the policy lets it pass).
    """
    also = {"junit": junit, "sarif": sarif, "markdown": markdown}
    if calibrate:
        judging = (file, html, policy, kernel, rename, proposed_baseline, proposed_policy, arch)
        if accept_proposed or predict or any((*judging, against, *also.values())):
            raise UsageError("--calibrate judges nothing", hint="leave out all other options")
        _calibrate(Path(baseline), candidate)
        return
    output.check_places(file, *also.values(), html=html)
    result = changes.gate(
        baseline,
        candidate,
        policy=policy,
        kernels=kernel or (),
        rename=rename or (),
        proposed_baseline=proposed_baseline,
        proposed_policy=proposed_policy,
        accept_proposed=accept_proposed,
        predict=predict,
        arch=arch,
        against=against,
        progress=progress_line(),
    )
    for name, place in also.items():
        if place is not None:
            output.write_file(result.to_text(name), place)
    if html is not None:
        given = ["--predict"] * predict + [word for each in arch or () for word in ("--arch", each)]
        command = output.typed("gate", baseline, *candidate, *given)
        output.write_page(result, html, command=command)
    output.write_result(
        output.rendered(result, output_format, file, no_color=no_color, tokens=tokens), file
    )
    raise typer.Exit(result.exit_code)


def _calibrate(file: Path, captures: list[str]) -> None:
    output.check_place(file)
    made, without = baselines.calibrate(file, captures, write=output.write_file)
    for kernel in made.kernels:
        if kernel.noise is not None:
            varying = f"; varies: {', '.join(kernel.noise.varying)}" if kernel.noise.varying else ""
            output.write_lines(
                f"{kernel.name}: medians up to {100 * kernel.noise.floor:.3g} % apart over "
                f"{kernel.noise.captures} captures{varying}"
            )
    for name in without:
        output.write_lines(f"{name}: not in enough of these captures; its noise stays unknown")
