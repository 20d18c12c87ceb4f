"""What the server's tools answer: the brief of a result, and where all of it can be read."""

from __future__ import annotations

import os
import re
import shlex
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelprof.analysis.ncu_command import PLACEHOLDER
from kernelprof.collect import recorded as records
from kernelprof.errors import KernelprofError, UsageError
from kernelprof.interface import captures, changes, prediction, reference
from kernelprof.interface.requests import is_source
from kernelprof.ladder.registry import load_ladders
from kernelprof.model.names import cut_middle, printable
from kernelprof.report.document import Bullets, Document, Paragraph, Section, Span
from kernelprof.report.render import render_kind, render_result
from kernelprof.report.writers import BRIEF, DEFAULT_TOKENS, Screen
from kernelprof.report.writers.brief import BYTES_OF_A_TOKEN, LEAST, write
from kernelprof.resources import checkout_folder
from kernelprof.results import Capture, Diagnosis, as_result, select_kernels
from kernelprof.server import sources
from kernelprof.server.patterns import check_pattern
from kernelprof.sources.capture_directory import make_contents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from kernelprof.launch.specification.spec import LaunchSpec
    from kernelprof.server.folders import Folders

MOST_TOKENS: Final = 8_000
"""Of one answer, whatever a client asks for."""
RESULTS: Final = "kernelprof://results"
FORMATS: Final = ("markdown", "json")
MOST_RESULTS: Final = 32
"""Results that are kept to be read as a whole: the last ones."""
FIRST: Final = """\
Measure only what the verdicts need, and store the capture:
kernelprof diagnose --keep capture -- {program}
On a machine with only ncu:
ncu --set full --csv --page raw --log-file capture.csv {program}
"""
_LINK: Final = 40
"""Tokens of the line that says where all of a result is."""
_NOT_RUN: Final = f"no {sources.ALLOW}"


class Answers:
    """The tools. Every answer is a text of at most so many tokens, of four bytes each.

    Raises :class:`KernelprofError` for what cannot be answered.
    """

    def __init__(self, folders: Folders, *, allow_run: bool) -> None:
        self._folders = folders
        self._allow_run = allow_run
        self._results: OrderedDict[int, Any] = OrderedDict()

    def diagnose(self, target: str, kernel: str = "", tokens: int = DEFAULT_TOKENS) -> str:
        """Name what limits each kernel, costliest first: evidence, what to do, the line to blame.

        target: a capture (a folder that kernelprof wrote, .csv, a text page of ncu, .ncu-rep), a
        folder of captures, or a .cu source. A source is measured only if the server may run
        programs and has a GPU; otherwise its recorded capture is used. If there is none of exactly
        this kernel, it is predicted from its machine code.
        kernel: a regular expression for the names of kernels. tokens: the size of the answer.
        """
        return self._remember(self._diagnose(target, kernel), tokens)

    def predict(
        self,
        source: str,
        arch: str = "sm_90",
        size: list[str] | None = None,
        define: list[str] | None = None,
        tokens: int = DEFAULT_TOKENS,
    ) -> str:
        """Predict from machine code what limits a .cu kernel: no GPU is used, no time measured.

        The result is checked against the reference first; the error for a wrong kernel names the
        line. size, define: NAME=VALUE each; they override the launch specification.
        """
        file = self._source_file(source)
        capture = prediction.predict(file, arch=arch, size=size, define=define)
        return self._remember([capture.diagnose()], tokens)

    def compare(self, before: str, after: str, tokens: int = DEFAULT_TOKENS) -> str:
        """Report how time, exact counters and verdicts differ between two captures or sources.

        Sources are measured if the server may run programs; otherwise their recorded captures are
        used. If there are none, use gate, which predicts both sources.
        """
        sides = [self._comparison_side(each) for each in (before, after)]
        return self._remember(changes.compare(*sides), tokens)

    def gate(
        self, baseline: str, candidate: str, policy: str = "", tokens: int = DEFAULT_TOKENS
    ) -> str:
        """Judge a change: pass, regression or inconclusive, and why.

        Two captures are judged by time, counters and verdict. Two .cu sources are judged by
        predictions, which name the line that got worse; no time is measured.
        policy: a TOML file in place of the default limits.
        """
        places = [self._folders.find(each) for each in (baseline, candidate)]
        predict = all(map(is_source, places))
        for each in places:
            if is_source(each):
                self._check_source(each)
        rules: Path | dict[str, Any] = self._folders.find(policy) if policy else {}
        result = changes.gate(places[0], places[1], policy=rules, predict=predict)
        return self._remember(result, tokens)

    def next_measurement(
        self, target: str = "", kernel: str = "", program: list[str] | None = None
    ) -> str:
        """Return the commands that would settle inconclusive verdicts, without running them.

        target: a capture or a source, as for diagnose. Without a target, the commands make a first
        capture of program, a command line.
        """
        if not target:
            commands = FIRST.format(program=shlex.join(program or PLACEHOLDER))
            if len(commands.encode()) > MOST_TOKENS * BYTES_OF_A_TOKEN:
                raise UsageError(
                    f"the commands for this program have more than {MOST_TOKENS} tokens",
                    hint="put the command into a script, and pass the script instead",
                )
            return commands
        diagnoses = self._diagnose(target, kernel)
        return render_kind("commands", diagnoses, BRIEF, Screen(tokens=DEFAULT_TOKENS))

    def explain(self, name: str = "", tokens: int = DEFAULT_TOKENS) -> str:
        """What a bottleneck is, why it matters, what to do, and when the verdict is wrong.

        name: as in a verdict; without one all bottlenecks are listed.
        """
        shown = reference.find_rule(name) if name else reference.rules()
        return render_kind("rule", shown, BRIEF, Screen(tokens=_bounded(tokens)))

    def list_recorded(
        self, which: str = "sgemm", contains: str = "", tokens: int = DEFAULT_TOKENS
    ) -> str:
        """The kernels whose captures ship with kernelprof, each with the path that tools take.

        which: a ladder (sgemm, bf16), whose rungs change one thing each, or pairs: kernels with a
        planted bottleneck (before.cu) and without it (after.cu).
        contains: list only lines with this text, such as a bottleneck's name.
        """
        return write(recorded_kernels(which, contains), Screen(tokens=_bounded(tokens)))

    def result(self, number: str, output_format: str) -> str:
        """All of a result of this session, as Markdown or JSON."""
        result = self._results.get(int(number)) if re.fullmatch(r"[0-9]{1,9}", number) else None
        if result is None or output_format not in FORMATS:
            raise UsageError(
                f"there is no result {number} in the format {output_format}",
                hint=f"the last {MOST_RESULTS} results are kept, as {' and '.join(FORMATS)}",
            )
        return render_result(result, output_format)

    def rule(self, name: str) -> str:
        """The page of a bottleneck as Markdown."""
        return render_kind("rule", reference.find_rule(name), "markdown")

    def _remember(self, result: Any, tokens: int) -> str:
        number = next(reversed(self._results), 0) + 1
        self._results[number] = result
        while len(self._results) > MOST_RESULTS:
            self._results.popitem(last=False)
        text = render_result(result, BRIEF, Screen(tokens=max(_bounded(tokens) - _LINK, LEAST)))
        return f"{text}\nFull result: {RESULTS}/{number}/markdown, {RESULTS}/{number}/json\n"

    def _diagnose(self, target: str, kernel: str) -> Sequence[Diagnosis]:
        path = self._folders.find(target)
        if is_source(path):
            diagnoses = [self._diagnose_source(path)]
        else:
            diagnoses = captures.each_capture([os.fspath(path)], self._diagnose_capture)
        if not kernel:
            return diagnoses
        check_pattern(kernel, (k.name for each in diagnoses for k in each.kernels))
        return select_kernels(diagnoses, kernel)

    def _diagnose_capture(self, target: str) -> Diagnosis:
        return captures.diagnose(target, whole=False)

    def _diagnose_source(self, source: Path) -> Diagnosis:
        if self._allow_run:
            return captures.diagnose(source)
        spec = sources.check_source(source, self._folders)
        capture = recorded_capture(source, spec, _NOT_RUN)
        return (capture or prediction.predict(source)).diagnose()

    def _comparison_side(self, name: str) -> Path | Capture:
        """A side of a comparison; of sources that are not measured their recorded captures."""
        path = self._folders.find(name)
        if self._allow_run or not is_source(path):
            return path
        capture = recorded_capture(path, sources.check_source(path, self._folders), _NOT_RUN)
        if capture is None:
            raise UsageError(
                "this server does not measure, and there is no recorded capture of this source",
                where=str(path),
                hint="use gate (it predicts both sources), or pass captures; to allow measuring, "
                f"start the server with: kernelprof mcp {sources.ALLOW}",
            )
        return capture

    def _source_file(self, name: str) -> Path:
        path = self._folders.find(name)
        if not is_source(path):
            raise UsageError("only a .cu file can be predicted", where=name)
        self._check_source(path)
        return path

    def _check_source(self, source: Path) -> None:
        if not self._allow_run:
            sources.check_source(source, self._folders)


def error_text(error: KernelprofError) -> str:
    """An error for a model to read: what, where and what to do, of bounded size."""
    lines = error.what.split("\n")
    if error.where:
        lines.append(f"where: {error.where}")
    if error.hint:
        lines += [f"next: {error.hint}"]
    text = "\n".join(
        cut_middle(printable(each), 300) for line in lines for each in line.split("\n")
    )
    most = BYTES_OF_A_TOKEN * LEAST * 2
    return text if len(text) <= most else f"{text[:most]} ..."


def _bounded(tokens: int) -> int:
    return min(max(tokens, LEAST), MOST_TOKENS)


PAIRS: Final = "pairs"
_CORPUS: Final = f"cuda/{PAIRS}"
"""The corpus, which only a checkout has."""


class CorpusPair(msgspec.Struct):
    """What a list shows of a pair; its file has more."""

    bottleneck: str | None = None
    change: str | None = None


def recorded_capture(source: Path, spec: LaunchSpec | None, lacking: str) -> Capture | None:
    """The recorded capture of just this kernel; ``None`` where there is none.

    ``lacking`` says in part of a sentence why it is not measured.
    """
    if spec is None:
        return None
    try:
        record = records.find_record(source, spec, lacking)
    except records.NoRecordError:
        return None
    contents = make_contents(source, record.manifest, record.lines)
    return as_result(Capture, record.capture, contents=contents, recorded=True)


def recorded_kernels(which: str, contains: str) -> Document:
    """The kernels of a ladder, or the pairs, a line each: those whose line has a text.

    Raises :class:`UsageError` where there is no such ladder.
    """
    titles = {each.name: each.title for each in load_ladders()}
    pairs = checkout_folder(_CORPUS)
    if pairs is not None:
        titles[PAIRS] = f"{PAIRS}: before.cu has the bottleneck, after.cu does not"
    if which not in titles:
        raise UsageError(
            f"no set of kernels is named {which!r}", hint=f"available: {', '.join(titles)}"
        )
    lines = [*_rungs(which)] if pairs is None or which != PAIRS else [*_pairs(pairs)]
    wanted = [each for each in lines if contains.lower() in each.lower()]
    count_line = f"{len(wanted):,} of {len(lines):,} kernels, recorded on an NVIDIA H200."
    shown = Section("Kernels", (Bullets(tuple(map(Span, wanted))),))
    return Document(titles[which], (Paragraph(count_line), *([shown] if wanted else [])))


def _rungs(name: str) -> Iterable[str]:
    for each in next(each for each in load_ladders() if each.name == name).rungs:
        limited = f" ({each.expected})" if each.expected else ""
        yield f"{each.target}{limited}: {each.changes}"


def _pairs(folder: Path) -> Iterable[str]:
    for file in sorted(folder.glob("*/pair.toml")):
        if not (file.parent / "before.cu").is_file():
            continue
        pair = msgspec.toml.decode(file.read_bytes(), type=CorpusPair)
        limited = f" ({pair.bottleneck})" if pair.bottleneck else ""
        yield f"{_CORPUS}/{file.parent.name}/before.cu{limited}: {pair.change or ''}".rstrip(": ")
