"""``kernelprof mcp``: a server for language models, over standard input and output."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 (typer reads the types)
from typing import Annotated

import typer

ORDER = 130


def mcp(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER",
            help="Folders that clients may read; default: the current folder.",
            show_default=False,
        ),
    ] = None,
    *,
    allow_run: Annotated[
        bool,
        typer.Option(
            "--allow-run",
            help=(
                "Allow clients to run code: build and measure kernels on this GPU, run reference "
                "implementations in Python, read .ncu-rep reports with ncu."
            ),
        ),
    ] = False,
) -> None:
    """Serve diagnoses over the Model Context Protocol, on standard input and output.

    An MCP client starts this server. Tools: diagnose, predict, compare, gate, next_measurement,
    explain, list_recorded. Needs the extra mcp.
    """
    from kernelprof.server.serve import serve_clients

    serve_clients(folders or (), allow_run=allow_run)
