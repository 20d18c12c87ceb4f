"""A stand-in for ``ncu`` 2025.3.1 that replays real captures, for machines without a GPU.

It takes the real options (from the real help text) and refuses the rest in ``ncu``'s words and with
its exit codes. It runs the program, whose name chooses the capture: ``gemm_series``, ``fixture``
and ``validation`` have one, any other program is one that launches no kernel. Launches are picked
and columns are collected as ``ncu`` does it, which was observed on an H200:

- a metric that does not exist leaves no column and no message on the raw page, and exit code 0;
- a name without suffix that is no metric ends the run with exit code 9;
- a metric with a roll-up brings the other three, and attributes of the launch and the device come
  with every collection;
- the source page has a table for each kernel with line information, and a warning for any other;
- with ``--csv`` a run prints base units unless told otherwise, an import scaled ones.

What it cannot do: values of metrics that the chip has and the capture lacks (the cell is empty),
the columns of single sections (it gives all), the eight columns on memory that runs of more than
one pass add, mangled names, NVTX ranges, the lines on progress, a source page without samples, and
pages other than raw and source.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from options import Options, RefusedError, behaviour, parse
from replay import (
    IDENTITY,
    Capture,
    MetricNotFoundError,
    available,
    columns,
    find,
    launches,
    read,
    refuse_unknown_sections,
    source_page,
)

_REPORT = b"NVR\0"
_CLOCKS = (
    "==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise,"
    " profiling results may be inconsistent."
)
_NO_RANGE = (
    "==WARNING== Note that specified NVTX include expressions match only push/pop ranges.",
    "==WARNING== Refer https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html"
    "#nvtx-filtering for NVTX Filtering usage.",
)


def main(arguments: list[str]) -> int:
    """Act as ``ncu`` would; the exit code."""
    try:
        options = parse(arguments)
        for name in ("version", "list-sets", "list-sections", "list-chips", "list-rules"):
            if name in options:
                sys.stdout.write(behaviour(name))
                return 0
        if "import" in options:
            return _import(options, _log(options))
        if "help" in options or not options.program:
            sys.stdout.write(behaviour("help"))
            return 0
        return _profile(options)
    except RefusedError as refused:
        sys.stdout.writelines(f"{line}\n" for line in refused.lines)
        return 1


def _profile(options: Options) -> int:
    refuse_unknown_sections(options)
    _refuse_what_does_not_fit(options)
    asked = options.program[0]
    found = shutil.which(asked)
    if found is None:
        raise RefusedError(
            f"==ERROR== '{asked}' does not exist or is not an executable. Please make sure to"
            f" specify the absolute path to '{asked}' if the executable is not in the local"
            " directory."
        )
    program = Path(found).resolve()
    capture = find(program.name, base_units=options.get("print-units", "base") == "base")
    picked = None if capture is None else launches(capture, options)
    not_found = None
    try:
        collected = None if picked is None else columns(picked, options)
    except MetricNotFoundError as error:
        collected, not_found = None, error
    if "export" not in options and ("csv" not in options or options.get("page") != "raw"):
        raise NotImplementedError("the stand-in prints the raw page as CSV, nothing else")
    log = _log(options)
    child = _held_back([str(program), *options.program[1:]])
    say = _Speaker(log, child.pid)
    if capture is not None:
        if options.get("clock-control") == "none":
            say(_CLOCKS)
        say(f"==PROF== Connected to process {child.pid} ({program})")
    child.communicate(b"go\n")
    code = child.returncode
    if not_found is not None and picked is not None and picked.rows:
        return say.failed(str(not_found), picked.kernels()[0])
    if capture is not None and code >= 0:
        say(f"==PROF== Disconnected from process {child.pid}")
    if code != 0:
        say(f"==ERROR== The application returned an error code ({abs(code)}).")
    if collected is None or not collected.rows or "nvtx-include" in options:
        say.nothing([] if capture is None else available(capture, options), options)
    elif "export" in options:
        say(f"==PROF== Report: {_export(collected, options, program.name).resolve()}")
    else:
        _print(_of_process(collected, child.pid), log)
    return abs(code)


def _held_back(command: list[str]) -> subprocess.Popen[bytes]:
    """The program, waiting for a line on its standard input before it starts."""
    wait = 'read -r _ && exec "$@" </dev/null'
    return subprocess.Popen(["/bin/sh", "-c", wait, "sh", *command], stdin=subprocess.PIPE)


class _Speaker:
    """Writes ``ncu``'s own lines to its log."""

    def __init__(self, log: TextIO, process: int) -> None:
        self._log = log
        self._process = process

    def __call__(self, *lines: str) -> None:
        self._log.writelines(f"{line}\n" for line in lines)
        self._log.flush()

    def nothing(self, kernels: list[str], options: Options) -> None:
        self("==WARNING== No kernels were profiled.")
        if "nvtx-include" in options:
            self(*_NO_RANGE)
        elif kernels:
            self("Available Kernels:")
            self(*(f"{number}. {kernel}" for number, kernel in enumerate(kernels, 1)))

    def failed(self, metric: str, kernel: str) -> int:
        self(
            f"==ERROR== Failed to find metric {metric}",
            "",
            f'==ERROR== Failed to profile "{kernel}" in process {self._process}',
            "==PROF== Trying to shutdown target application",
            "==ERROR== The application returned an error code (9).",
        )
        return 9


def _refuse_what_does_not_fit(options: Options) -> None:
    if "nvtx-include" in options and "nvtx" not in options:
        raise RefusedError("==ERROR== --nvtx-include requires --nvtx")
    if "quiet" in options and "export" not in options:
        raise RefusedError(
            "==ERROR== Option --quiet cannot be used. No output file mentioned, use --export"
            " option."
        )
    if "export" in options:
        path = _report(options)
        if path.exists() and "force-overwrite" not in options:
            raise RefusedError(
                f"==ERROR== File {path} already exists. Use '-f' for overwriting the file."
            )
        if not path.parent.is_dir():
            raise RefusedError(
                f"==ERROR== Unable to write to file {path.name}. Please verify this file is not"
                " locked, and writable."
            )


def _log(options: Options) -> TextIO:
    name = options.get("log-file", "stdout")
    if name in ("stdout", "stderr"):
        return sys.stdout if name == "stdout" else sys.stderr
    try:
        return Path(name).open("w", encoding="utf-8")
    except OSError as error:
        raise RefusedError(f"==ERROR== '{name}' cannot be used as the output log file") from error


def _report(options: Options) -> Path:
    path = Path(options.get("export"))
    return path if path.suffix == ".ncu-rep" else path.with_name(f"{path.name}.ncu-rep")


def _export(collected: Capture, options: Options, program: str) -> Path:
    path = _report(options)
    text = io.StringIO()
    _print(collected, text)
    pages = {"raw": text.getvalue(), "source": source_page(program, collected.kernels())}
    path.write_bytes(_REPORT + json.dumps(pages).encode())
    return path


def _import(options: Options, log: TextIO) -> int:
    path = Path(options.get("import"))
    if not path.is_file():
        log.write(
            f"==ERROR== Could not open report file '{path}'.\n"
            "==ERROR== The file does not exist or is not a regular file.\n"
        )
        return 1
    content = path.read_bytes()
    what = "The file is not an Nsight Compute profiler report."
    page = None
    if content.startswith(_REPORT):
        what = "An unknown error occurred."
        page = _stored_page(path, content, options)
    if page is None:
        log.write(f"==ERROR== Failed to load report file '{path}'.\n==ERROR== {what}\n")
        return 1
    log.write(page)
    return 0


def _stored_page(path: Path, content: bytes, options: Options) -> str | None:
    """A page of a report: of our own, or of a real one whose exports lie beside it."""
    if content[len(_REPORT) :].startswith(b"{"):
        pages: dict[str, str] = json.loads(content[len(_REPORT) :])
        return pages["source" if options.get("page") == "source" else "raw"]
    units = ".base-units" if options.get("print-units") == "base" else ""
    raw = path.with_name(f"{path.stem}{units}.raw.csv")
    if options.get("page", "details") == "details":
        details = path.with_name(f"{path.stem}.details.csv")
        return details.read_text(encoding="utf-8") if details.is_file() else None
    if not raw.is_file():
        return None
    capture = read(raw)
    asked = [name for value in options.all("metrics") for name in value.split(",")]
    if asked:
        places = [*range(IDENTITY), *(n for n, name in enumerate(capture.header) if name in asked)]
        capture = Capture(
            *([row[n] for n in places] for row in (capture.header, capture.units)),
            [[row[n] for n in places] for row in capture.rows],
        )
    text = io.StringIO()
    _print(capture, text)
    return text.getvalue()


def _of_process(capture: Capture, process: int) -> Capture:
    place = capture.column("Process ID")
    rows = [[*row[:place], str(process), *row[place + 1 :]] for row in capture.rows]
    return replace(capture, rows=rows)


def _print(capture: Capture, log: TextIO) -> None:
    writer = csv.writer(log, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([capture.header, capture.units, *capture.rows])
    log.flush()
