"""Mutants of each kind of input, some of a seed at a time: what broke, and how long one took."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any
from unittest import mock

from tests.fuzz import mutations
from tests.fuzz.cells import FACTORS, columns_read, find_flips, scaled
from tests.fuzz.inputs import CAPTURES, REPORTS
from tests.fuzz.try_examples import Tried, try_some

from kernelprof.analysis.verdict import diagnose
from kernelprof.errors import KernelprofError
from kernelprof.interface.captures import read
from kernelprof.interface.changes import gate
from kernelprof.model.gate import Outcome
from kernelprof.server.patterns import check_pattern
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from kernelprof.model.capture import Capture
    from kernelprof.results import CaptureView

LONGEST_S = 30.0
CELLS = (
    "gemm_series.full.raw.csv", "validation/raw.csv.gz", "validation/more.raw.csv.gz",
    "bf16/tops.raw.csv.gz",
)  # fmt: skip
SLOWED = (("before-1.1", "after-1.1"), ("before-1.2", "after-1.2"), ("before-5.1", "after-5.1"))
EXPRESSIONS = (
    "(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*)*x", "(\\w+\\s?)*$", "a{1,65000}", "(" * 200, "[",
    "(?<=a", "\\", "(?P<n>a)(?P=n)", "gemm", "\\w+", "^", "$", "a?" * 40 + "a" * 40, "(?i)ß", "\0",
)  # fmt: skip
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("diagnose", {"target": "fixture_basic.raw.csv", "tokens": 500}),
    ("diagnose", {"target": "fixture_basic.ncu-rep", "kernel": "scale"}),
    ("compare", {"before": "fixture_basic.raw.csv", "after": "fixture_basic.details.csv"}),
    ("next_measurement", {"target": "fixture_basic.raw.csv"}),
    ("explain", {"name": "l1-throughput"}),
    ("gate", {"baseline": "h200_changes/tile/1", "candidate": "h200_changes/tile/2"}),
)


@dataclass
class Part:
    """What came of some mutants."""

    tried: int = 0
    slowest_s: float = 0.0
    broken: list[str] = field(default_factory=list)

    @contextmanager
    def attempt(self, described: str) -> Iterator[None]:
        """Count one mutant; an exception that is no message to the user breaks it, as does time."""
        self.tried += 1
        begin = time.monotonic()
        try:
            yield
        except KernelprofError:
            pass
        except Exception as error:
            self.broken.append(f"{described}: {type(error).__name__}: {error}")
        seconds = time.monotonic() - begin
        self.slowest_s = max(self.slowest_s, seconds)
        if seconds > LONGEST_S:
            self.broken.append(f"{described}: {seconds:.0f} s")


@cache
def _read(name: str) -> Capture:
    return read_capture(CAPTURES / name)


def _cells(draw: random.Random, _: int, part: Part) -> None:
    name = draw.choice(CELLS)
    capture = _read(name)
    column = draw.choice(columns_read(capture))
    with part.attempt(f"{name}: {column}"):
        tried, flips = find_flips(capture, [column])
        part.tried += tried - 1
        part.broken += [
            f"{name}, launch {each.row}: {column} times {each.factor:g} gives "
            f"{each.after.bottleneck}, not {each.before.bottleneck}"
            for each in flips
        ]


def _outcomes(old: CaptureView, new: CaptureView) -> list[Outcome]:
    return [each.outcome for each in gate(old, new).kernels]


def _gate(draw: random.Random, _: int, part: Part) -> None:
    names = draw.choice(SLOWED)
    old, new = (read(CAPTURES / f"h200_once/{name}.csv.gz") for name in names)
    column, factor = draw.choice(columns_read(new)), draw.choice(FACTORS)
    described = f"h200_once, {' to '.join(names)}, {column} times {factor:g}"
    with part.attempt(described):
        before = _outcomes(old, new)
        after = _outcomes(old, scaled(new, column, factor))
        part.tried += before.count(Outcome.REGRESSION) - 1
        part.broken += [
            f"{described}: kernel {at} passes"
            for at, pair in enumerate(zip(before, after, strict=True))
            if pair == (Outcome.REGRESSION, Outcome.PASS)
        ]


def _damage(draw: random.Random, data: bytes) -> bytes:
    """Change bytes, take some out, repeat some, or cut the end."""
    changed = bytearray(data)
    start = draw.randrange(len(data))
    end = min(len(data), start + draw.choice((1, 8, 64, 4096)))
    match draw.randrange(6):
        case 0:
            del changed[start:end]
        case 1:
            changed[start:end] = bytes(end - start)
        case 2:
            changed[start:start] = changed[start:end]
        case 3:
            del changed[start:]
        case _:
            for _ in range(draw.choice((1, 1, 2, 8, 64))):
                changed[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(changed)


def _reports(draw: random.Random, count: int, part: Part) -> None:
    original = CAPTURES / REPORTS[0]
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("kernelprof.sources.ncu_report._find_tool", return_value=None),
    ):
        path = Path(folder) / "x.ncu-rep"
        for number in range(count):
            path.write_bytes(_damage(draw, original.read_bytes()))
            with part.attempt(f"report {number}"):
                diagnose(read_capture(path))
        with part.attempt("the report itself"):
            part.tried -= 1
            assert len(read_capture(original)) == 3


def _expressions(draw: random.Random, _: int, part: Part) -> None:
    pattern = "".join(draw.choice(EXPRESSIONS) for _ in range(draw.choice((1, 1, 2, 3))))
    with part.attempt(f"expression {pattern!r}"):
        check_pattern(pattern, ["a" * draw.choice((8, 64)) + "b", "gemm<float, 4>(int*)"])


def _message(draw: random.Random) -> bytes:
    name, given = draw.choice(CALLS)
    given = {**given}
    for _ in range(draw.randrange(3)):
        given[draw.choice([*given, "kernel", "tokens", "x"])] = draw.choice(mutations.VALUES)
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": draw.choice((1, "a", 2**70, 0)),
        "method": draw.choice(("tools/call", "tools/call", "resources/read", "tools/list", "x")),
        "params": {"name": name, "arguments": given, "uri": "kernelprof://x"},
    }
    if draw.randrange(4) == 0:
        message[draw.choice([*message])] = draw.choice(mutations.VALUES)
    text = json.dumps(message).encode()
    if draw.randrange(4) == 0:
        text = _damage(draw, text)
    return text.replace(b"\n", b" ") + b"\n"


class _Server:
    """A server of its own, and the lines that it answers."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kernelprof", "mcp", str(CAPTURES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.answers: Queue[bytes] = Queue()
        Thread(target=self._collect, daemon=True).start()
        start = {"protocolVersion": "2025-06-18", "capabilities": {}}
        self.ask("initialize", {**start, "clientInfo": {"name": "x", "version": "1"}})
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    def _collect(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.answers.put(line)

    def send(self, line: bytes) -> None:
        """Write a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> None:
        """Send a right message, and wait for its answer."""
        key = f"right-{time.monotonic_ns()}"
        message = {"jsonrpc": "2.0", "id": key, "method": method, "params": params}
        self.send(json.dumps(message).encode() + b"\n")
        end = time.monotonic() + LONGEST_S
        while time.monotonic() < end:
            try:
                line = self.answers.get(timeout=LONGEST_S)
            except Empty:
                break
            if b"Traceback" in line:
                raise AssertionError(line[:500])
            if key.encode() in line:
                assert b'"result"' in line, line[:500]
                return
        raise TimeoutError(f"no answer; the server ended with {self.process.poll()}")


def _messages(draw: random.Random, count: int, part: Part) -> None:
    server = _Server()
    try:
        for _ in range(count):
            line = _message(draw)
            with part.attempt(f"message {line[:300]!r}"):
                server.send(line)
                server.ask("tools/list", {})
        with part.attempt("the diagnosis after all messages"):
            part.tried -= 1
            server.ask("tools/call", {"name": CALLS[0][0], "arguments": CALLS[0][1]})
    finally:
        server.process.kill()
        server.process.wait()


def _each(one: Callable[[random.Random, int, Part], None]) -> Callable[..., None]:
    def some(draw: random.Random, count: int, part: Part) -> None:
        while part.tried < count:
            one(draw, count, part)

    return some


def _commands(*kinds: str) -> Callable[..., None]:
    def some(draw: random.Random, count: int, part: Part) -> None:
        tried = Tried()
        try_some(tried, draw.randrange(1 << 30), count, Path("build/fuzz"), kinds=kinds)
        part.tried, part.slowest_s = tried.kinds.total(), tried.slowest_s
        part.broken += tried.wrong

    return some


KINDS: dict[str, tuple[int, str, Callable[[random.Random, int, Part], None]]] = {
    "report bytes": (5000, "bytes of a `.ncu-rep` file, read by NVIDIA's package", _reports),
    "cells": (4000, "one value times 0, 1e-300, 10, 1000 or 1e12: another verdict with high "
              "confidence", _each(_cells)),
    "gate": (2300, "likewise, of a slowed kernel: it passes", _each(_gate)),
    "CSV bytes": (1200, "exports and capture directories", _commands(
        "capture", "source page", "directory", "folder")),
    "JSON": (600, "baselines, predictions, diagnoses, ladders", _commands(
        "baseline", "predictions", "diagnosis", "ladder")),
    "policies": (600, "TOML and bytes of a policy", _commands("policy")),
    "specifications": (400, "TOML of launch specifications", _commands("specification")),
    "sources": (300, "text of a kernel, compiled and predicted", _commands("source")),
    "MCP messages": (1200, "arguments and bytes; a right message follows each", _messages),
    "regular expressions": (300, "of an MCP client", _each(_expressions)),
}  # fmt: skip
"""How many mutants of each kind, what they are, and the function that tries some."""
