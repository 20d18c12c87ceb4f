"""The history as Markdown: a table for each kernel, the oldest row first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.history import Source
from kernelprof.report import history_words as words
from kernelprof.report.names import middle
from kernelprof.report.writers.markdown import code, prose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.history import History, KernelHistory, Row

_WIDTH: Final = 64


def render_history_markdown(history: History) -> str:
    """A heading and a table for each kernel, those that take most time first."""
    lines = [f"**History of {code(history.origin)}**: {words.overview(history)} (UTC)", ""]
    lines += [f"{prose(note)}\n" for note in history.notes]
    for kernel in history.kernels:
        lines += [*_kernel(kernel, history.source), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _kernel(kernel: KernelHistory, source: Source) -> Iterable[str]:
    gpus = words.machines(kernel)
    yield f"### {code(middle(words.title(kernel), _WIDTH))}"
    yield ""
    yield prose(words.summary(kernel))
    yield ""
    headings = ["date", "commit" if source is Source.GIT else "capture", "time", "change"]
    headings += ["verdict", "confidence", "counters"]
    headings += [*(["GPU"] if len(gpus) > 1 else []), "remarks"]
    yield f"| {' | '.join(headings)} |"
    yield f"| {' | '.join('---:' if each == 'time' else '---' for each in headings)} |"
    dates = words.dates(kernel.rows)
    for position, row in enumerate(kernel.rows):
        cells = _cells(row, dates[position], first=position == 0, several=len(gpus) > 1)
        yield f"| {' | '.join(cells)} |"
    for reason in words.reasons(kernel):
        yield ""
        yield prose(reason)


def _cells(row: Row, date: str, *, first: bool, several: bool) -> Iterable[str]:
    commit, said = row.moment.commit, row.kernel.verdict
    subject = [commit.subject] if commit is not None else []
    yield date
    yield code(middle(commit.short if commit is not None else row.moment.origin, _WIDTH))
    yield words.time_cell(row)
    yield words.change_cell(row, first=first)
    yield code(words.verdict_cell(said))
    yield prose(said.confidence)
    yield words.counters_cell(row)
    if several:
        yield prose(words.gpu(row))
    yield "<br>".join(prose(each) for each in (*subject, *words.remarks(row)))
