"""Writing results: all of a text or nothing, on stdout or into a file."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from kernelprof.cli import options
from kernelprof.errors import ExitCode, InputError, KernelprofError, MissingToolError, UsageError
from kernelprof.model.log_commands import escape_log_commands
from kernelprof.model.names import encodable, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import IO, TextIO

    from kernelprof.report.writers import Screen


_LAST_STANDARD = 2


class OutputClosed(Exception):  # noqa: N818 (a reader that stops early is no error)
    """Whoever read our output has stopped reading."""


class WriteError(KernelprofError):
    """The result cannot be stored: the environment lacks the room."""

    exit_code = ExitCode.ENVIRONMENT


def write_text(text: str) -> None:
    """Write to stdout, with a substitute for every glyph that it cannot show.

    Nothing in it is a command to the CI system whose log it may end up in.
    """
    stream = sys.stdout
    try:
        stream.write(encodable(escape_log_commands(text), stream.encoding or "utf-8"))
        stream.flush()
    except BrokenPipeError as error:
        _detach(stream)
        raise OutputClosed from error
    except OSError as error:
        _detach(stream)
        _refuse(error, "standard output")


def write_lines(*lines: str) -> None:
    """Write lines to stdout, of which each stays one: what names of files hold steers nothing."""
    write_text("".join(f"{printable(line)}\n" for line in lines))


def check_place(path: Path) -> None:
    """Refuse a file that cannot be written, before anything is measured for it."""
    target = path.expanduser()
    reason = None
    if str(path) == "-":
        raise InputError(
            "cannot write the result: '-' is not a file name",
            hint="name a file; most commands write to standard output without -o",
        )
    if target.is_dir():
        reason = "the path is a folder"
    elif target.exists() and not target.is_file():
        return  # a device or a pipe
    elif not (folder := target.resolve().parent).is_dir():
        reason = "there is no such folder"
    elif not os.access(folder, os.W_OK):
        reason = "the folder is not writable"
    if reason is not None:
        raise InputError(
            f"cannot write the result: {reason}",
            where=str(path),
            hint="name a file in an existing folder with write permission",
        )


class NoOutput(io.StringIO):
    """Stands in for a standard output that was closed before we began: nothing can be written."""

    def write(self, text: str, /) -> int:
        """Refuse, like a full disk."""
        if text:
            raise WriteError(
                "cannot write the result: standard output is closed",
                hint="leave standard output open, or write to a file with -o FILE",
            )
        return 0


def reopen_standard_streams() -> None:
    """Stand-ins for streams that were closed before we began; no file may get their numbers."""
    if sys.stdin is not None and sys.stdout is not None and sys.stderr is not None:
        return
    number = -1
    while number <= _LAST_STANDARD:
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    if sys.stdout is None:
        sys.stdout = NoOutput()
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


class Harmless:
    """Standard error, on which nothing that is written is a command to a CI system.

    Whoever writes there, also the parser of the command line or a traceback, writes whole lines.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        """Write what is harmless of a text; the number of its characters."""
        self._stream.write(escape_log_commands(text))
        return len(text)

    def writelines(self, lines: Iterable[str], /) -> None:
        """Write each of them."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """Anything else is as the stream has it."""
        return getattr(self._stream, name)


def write_result(text: str, path: Path | None) -> None:
    """Write into the file that ``-o`` names, else to stdout."""
    if path is None:
        write_text(text)
    else:
        write_file(text, path)


def write_file(text: str, path: Path) -> None:
    """Write a text file; one that is there already stays as it is until the new one is complete."""
    write_bytes(encodable(text, "utf-8").encode("utf-8"), path)


def write_bytes(data: bytes, path: Path) -> None:
    """Write a file as :func:`write_file` does."""
    path = path.expanduser()
    if path.exists() and not path.is_file():  # a device or a pipe, which cannot be replaced
        draft = path
    else:
        path = path.resolve()
        draft = path.with_name(f".{path.name[:200]}.{os.getpid()}.tmp")
    try:
        draft.write_bytes(data)
        if draft != path:
            if path.exists():
                draft.chmod(path.stat().st_mode & 0o7777)
            draft.replace(path)
    except BrokenPipeError as error:
        raise OutputClosed from error
    except OSError as error:
        _refuse(error, str(path))
    finally:
        if draft != path:
            draft.unlink(missing_ok=True)


def check_places(*files: Path | None, html: Path | None = None, png: Path | None = None) -> None:
    """Refuse files that cannot be written, or are one and the same, before anything is measured."""
    if html is not None and html.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(
            "the report must be an HTML file",
            where=str(html),
            hint="give it a name that ends in .html",
        )
    if png is not None:
        check_picture(png)
    seen: set[Path] = set()
    for path in (*files, html, png):
        if path is None:
            continue
        check_place(path)
        target = path.expanduser().resolve()
        if target in seen:
            raise UsageError(
                "two outputs have the same file name",
                where=str(path),
                hint="give each output its own file name",
            )
        seen.add(target)


@dataclass(frozen=True, kw_only=True)
class Output:
    """Where a result is written, and in which formats: the options of commands that write one."""

    output_format: Annotated[str, typer.Option("--format")] = "text"
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="N",
            min=0,
            help=(
                "Show the first N kernels (default: those that take 90 % of the time, at most "
                "5); 0 lists all in a table."
            ),
        ),
    ] = None
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show all evidence, the derivation of the gain, and missing metrics. Markdown, "
            "JSON and HTML always contain them.",
        ),
    ] = False
    tokens: Annotated[
        int | None,
        typer.Option(
            "--tokens",
            metavar="N",
            min=200,
            help="Length limit of `--format brief` in tokens of four bytes; default: 800.",
        ),
    ] = None
    file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file.")
    ] = None
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Also write JUnit XML.")
    ] = None
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Also write SARIF 2.1.0.")
    ] = None
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="FILE", help="Also write Markdown for a pull-request comment."
        ),
    ] = None
    html: options.HtmlOption = None
    png: options.PngOption = None
    no_color: Annotated[bool, typer.Option("--no-color", help="No color.")] = False

    def __post_init__(self) -> None:
        """Take ``-o FILE.html`` for ``--html``; refuse a format that the suffix is not for."""
        if self.file is None:
            return
        if self.output_format == options.HTML:
            if self.html is not None:
                raise UsageError(
                    "-o and --html both name an HTML file",
                    where=str(self.file),
                    hint="use only one of them",
                )
            object.__setattr__(self, "html", self.file)
            object.__setattr__(self, "file", None)
            object.__setattr__(self, "output_format", "text")
        elif self.output_format not in (formats := options.formats_of(self.file)):
            raise UsageError(
                f"--format {self.output_format} does not match the suffix of the file name",
                where=str(self.file),
                hint=f"leave out --format to write {formats[0]}, or rename the file",
            )

    def check(self, *others: Path | None) -> None:
        """Refuse files that cannot be written, these and ``others``."""
        files = (self.file, self.junit, self.sarif, self.markdown, *others)
        check_places(*files, html=self.html, png=self.png)

    def write(self, result: Any, *command: str) -> None:
        """Write all that was asked for; the page names the ``command``, if there is one."""
        for name in ("junit", "sarif", "markdown"):
            file: Path | None = getattr(self, name)
            if file is not None:
                write_file(result.to_text(name), file)
        if self.html is not None:
            write_page(result, self.html, **({"command": typed(*command)} if command else {}))
        if self.png is not None:
            write_picture(result, self.png)
        write_result(self.rendered(result), self.file)

    def rendered(self, result: Any, **details: Any) -> str:
        """Return the result in its format, for where it is written."""
        from kernelprof.report.render import render_result

        return render_result(result, self.output_format, self.screen, **details)

    @property
    def screen(self) -> Screen:
        """What the text is written for."""
        return screen(self.file, no_color=self.no_color, tokens=self.tokens)


def output_fields(kind: str, formats: str, *names: str, **chosen: Any) -> options.Expand:
    """The fields of :class:`Output` that a command has beside ``--format`` of a kind of result."""
    chosen["output_format"] = options.format_option(kind, formats)
    return options.Expand(Output, "output_format", *names, **chosen)


_WIDEST: Final = 400
"""Columns; a wider terminal, or a wrong $COLUMNS, takes no more."""


def screen(
    file: Path | None = None, *, no_color: bool = False, tokens: int | None = None
) -> Screen:
    """What a text is written for: a file, or stdout with color on a terminal that wants it."""
    from kernelprof.report.writers import DEFAULT_TOKENS, Screen

    width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
    most = tokens or DEFAULT_TOKENS
    if file is not None:
        return Screen(width, color=False, encoding="utf-8", tokens=most)
    refused = no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    color = not refused and sys.stdout.isatty()
    return Screen(width, color, sys.stdout.encoding or "utf-8", most)


def shown(kind: str, value: Any, name: str = "text", **options: Any) -> str:
    """What is no result of a capture, in a format: a rule, presets, checks, a baseline."""
    from kernelprof.report.render import render_kind

    return render_kind(kind, value, name, screen(), **options)


def write_picture(result: Any, file: Path) -> None:
    """Write the top of a result's page as a picture."""
    write_bytes(take_picture(result), file)


def write_page(result: Any, file: Path, **options: Any) -> None:
    """Write the page of a result."""
    from kernelprof.report.render import render_page

    write_file(render_page(result, **options), file)


def typed(*words: str) -> str:
    """What was typed, without the folders of the machine."""
    import shlex

    from kernelprof.report.private import shown_origin

    return shlex.join(["kernelprof", *map(shown_origin, words)])


def print_remarks(*lines: str) -> None:
    """Lines on stderr beside a result: no warnings, just what was done for it."""
    sys.stderr.writelines(f"kernelprof: {_safe(line)}\n" for line in lines)


def warn(text: str) -> None:
    """A warning on stderr, one line."""
    sys.stderr.write(f"kernelprof: warning: {_safe(text)}\n")


def print_error(what: str, *, where: str | None = None, hint: str | None = None) -> None:
    """An error on stderr: what happened, where, and what to do next."""
    first, *more = [line for line in what.split("\n") if line.strip()] or [""]
    lines = [f"kernelprof: error: {_safe(first)}"]
    # Behind a bar: what a file says must not look like a message of ours.
    lines += [f"  | {_safe(line.rstrip())}" for line in more]
    if where:
        lines.append(f"  where: {_safe(where)}")
    if hint:
        first, *following = hint.split("\n")
        lines.append(f"  next: {_safe(first)}")
        lines += [_safe(line) for line in following]
    sys.stderr.write("\n".join(lines) + "\n")


def _refuse(error: OSError, where: str) -> NoReturn:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise WriteError(
            f"cannot write the result: {reason}",
            where=where,
            hint="free some space, or write elsewhere with -o FILE",
        ) from error
    raise InputError(
        f"cannot write the result: {reason}",
        where=where,
        hint="name a file in an existing folder with write permission",
    ) from error


def _detach(stream: TextIO) -> None:
    """Let the interpreter's last flush succeed, so that it adds no message of its own."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _safe(text: str) -> str:
    return encodable(printable(text), sys.stderr.encoding or "utf-8")


WIDTH: Final = 1200
MOST_HEIGHT: Final = 4000
_SCALE: Final = 1.5
"""Pixels of the picture for each of the page: text stays sharp where it is shown smaller."""

_FLAGS: Final = (
    "--headless",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    f"--force-device-scale-factor={_SCALE}",
)
_HEIGHT: Final = re.compile(r'<html[^>]* data-height="(\d{1,6})"')
_MAGIC: Final = b"\x89PNG\r\n\x1a\n"


def check_picture(file: Path | None) -> None:
    """Refuse a name that is none of a picture, and a machine without a browser, before anything."""
    from kernelprof import tools

    if file is None:
        return
    if file.suffix.lower() != ".png":
        raise UsageError(
            "the image must be a PNG file", where=str(file), hint="give it a name that ends in .png"
        )
    tools.find_browser()


def take_picture(result: Any) -> bytes:
    """The answer of a page with its first figures, without what needs a click.

    Raises :class:`MissingToolError` where there is no browser.
    """
    import tempfile

    from kernelprof import tools
    from kernelprof.report.render import render_page

    browser = tools.find_browser()
    text = render_page(result).replace("<html ", '<html class="picture" ', 1)
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.png"
        source.write_text(text, encoding="utf-8")
        common = [browser, *_FLAGS, f"--user-data-dir={folder}/profile"]
        # A browser does not start as root in its sandbox; the page runs one script, which is ours.
        for sandbox in ([], ["--no-sandbox"]):
            height = _height([*common, *sandbox, source.as_uri()])
            if height is None:
                continue
            size = f"--window-size={WIDTH},{min(height, MOST_HEIGHT)}"
            shot = [*common, *sandbox, size, f"--screenshot={target}", source.as_uri()]
            tools.ask(*shot)
            if target.exists() and (data := target.read_bytes()).startswith(_MAGIC):
                return data
    raise MissingToolError(
        "Chromium did not write the image",
        where=browser,
        hint="write an HTML report (-o FILE.html) instead, and open it in a browser",
    )


def _height(command: Sequence[str]) -> int | None:
    from kernelprof import tools

    *start, address = command
    done = tools.ask(*start, f"--window-size={WIDTH},900", "--dump-dom", address)
    match = _HEIGHT.search(done.stdout) if done is not None else None
    return None if match is None else int(match[1])
