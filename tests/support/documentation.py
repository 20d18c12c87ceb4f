"""Pages of Markdown: their links, their commands, and the outputs that they show."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer
from markdown_it import MarkdownIt

from kernelprof.cli.main import app, main

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
_EXIT_CODE = re.compile(r"  # exit code (\d+)$")
_SHELL = re.compile(r"[|&;<>*?$`~(]")
_COMMENT = re.compile(r"""('[^']*'|"[^"]*")|(?:^|\s)#.*$""", re.MULTILINE)
_OPERATORS = "|&;<>()\n"
_BLOCKS_RUN = re.compile(r"\d+ of (\d+ blocks)")
"""A slow machine runs fewer of them."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, whose text begins in ``line`` (from 0)."""

    page: Path
    line: int
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a ``console`` block, and its output on the page from ``line`` on (from 0)."""

    text: str
    code: int
    line: int
    shown: list[str]


@cache
def parse(page: Path) -> list[Any]:
    """Return the tokens of a page."""
    return MarkdownIt("commonmark").enable("table").parse(page.read_text("utf-8"))


def blocks(page: Path, language: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page in a language."""
    for token in parse(page):
        if token.type == "fence" and token.info == language:
            yield Block(page, token.map[0] + 1, token.content)


def inline(page: Path, kind: str) -> Iterator[Any]:
    """Yield the tokens of one kind that are parts of a page's sentences."""
    for token in parse(page):
        yield from (child for child in token.children or () if child.type == kind)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files and images that a page links to, each with the heading in it, or ""."""
    targets = [token.attrs["href"] for token in inline(page, "link_open")]
    for target in (*targets, *(token.attrs["src"] for token in inline(page, "image"))):
        path, _, heading = target.partition("#")
        if ":" not in path:
            yield (page.parent / path).resolve() if path else page, heading


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: those in it, and those that GitHub gives its headings."""
    given = re.findall(r'<a id="([^"]+)">', page.read_text("utf-8"))
    tokens = parse(page)
    headings = [tokens[at + 1] for at, token in enumerate(tokens) if token.type == "heading_open"]
    titles = ["".join(child.content for child in each.children) for each in headings]
    slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    return {*given, *slugs}


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a ``console`` block, which begins with one."""
    lines = block.text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"{block.page.name}:{block.line}: no command"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        output = next(at for at in range(start, end) if lines[at][-1:] != "\\") + 1
        text = "\n".join(lines[start:output]).removeprefix("$ ")
        code = _EXIT_CODE.search(text)
        shown = "\n".join(lines[output:end]).rstrip().splitlines()
        yield Command(
            _EXIT_CODE.sub("", text), int(code[1]) if code else 0, block.line + output, shown
        )


@cache
def run(text: str) -> tuple[int, list[str]]:
    """Run a command as without a terminal and without ``ncu``; return its code and output."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("COLUMNS", "80")
        if shutil.which("ncu"):
            patch.setenv("KERNELPROF_NCU", "/no/such/ncu")
        in_process = text.startswith("kernelprof ") and not _SHELL.search(text)
        code, output = (_call if in_process else _start)(text, patch)
    return code, [line.rstrip() for line in output.rstrip().splitlines()]


def _call(text: str, patch: pytest.MonkeyPatch) -> tuple[int, str]:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "utf-8", newline="", write_through=True)
    for name, value in (("stdin", io.StringIO()), ("stdout", stream), ("stderr", stream)):
        patch.setattr(sys, name, value)
    return main(shlex.split(text)[1:]), written.getvalue().decode()


def _start(text: str, patch: pytest.MonkeyPatch) -> tuple[int, str]:
    patch.setenv("PYTHONPATH", str(ROOT / "src"))
    patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    done = subprocess.run(
        ["bash", "-c", text],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def matches(shown: list[str], printed: list[str]) -> bool:
    """Return whether a page shows what was printed; a line ``...`` is any number of lines."""
    parts = [re.escape(f"{line}\n") for line in _normalize(shown)]
    pattern = "".join(r"(?:.*\n)*?" if part == re.escape("...\n") else part for part in parts)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _normalize(printed))) is not None


def _normalize(lines: list[str]) -> list[str]:
    return [_BLOCKS_RUN.sub(r"all of \1", line) for line in lines]


def correct(shown: list[str], printed: list[str]) -> list[str]:
    """Return what a page has to show; lines stay omitted where its first or last line is right."""
    if matches(shown, printed) or "..." not in shown:
        return shown if matches(shown, printed) else printed
    head, tail = shown.index("..."), shown[::-1].index("...")
    right = shown[: head and 1] == printed[:1] or shown[len(shown) - (tail and 1) :] == printed[-1:]
    if not right or head + tail >= len(printed):
        return printed
    return [*printed[:head], "...", *printed[len(printed) - tail :]]


def check_options(script: str) -> None:
    """Raise what the command line raises where a script gives it a wrong command or option."""
    text = _COMMENT.sub(r"\1", script.replace("\\\n", " "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    calls: list[list[str]] = [[]]
    for word in lexer:
        calls.append([]) if set(word) <= set(_OPERATORS) else calls[-1].append(word)
    for call in calls:
        while call and (re.match(r"\w+=", call[0]) or call[0] in {"python", "-m"}):
            del call[0]
        if call[:1] == ["kernelprof"]:
            _check_call(typer.main.get_command(app), call[1:])


def _check_call(command: Any, words: list[str]) -> None:
    context = command.make_context(command.name, [], resilient_parsing=True)
    context.resilient_parsing = False
    _, rest, _ = command.make_parser(context).parse_args(list(words))
    # A word in capitals stands for any command.
    if hasattr(command, "get_command") and rest and not rest[0].isupper():
        found = command.get_command(context, rest[0])
        if found is None:
            raise typer.BadParameter(f"no such command: {rest[0]}")
        _check_call(found, rest[1:])
