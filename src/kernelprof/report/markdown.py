"""The Markdown output: fit for a pull-request comment, whatever a kernel is called."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from kernelprof.report import sentences
from kernelprof.report.names import fit, labels, middle, printable
from kernelprof.report.numbers import comparison, quantity, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis

MOST_ROWS = 30
_LABEL_WIDTH = 64
_NAME_WIDTH = 400

_CODE_SPAN = re.compile(r"(?<!`)(`[^`]+`)(?!`)")
_PUNCTUATION = re.compile(r"[\\*\[\]<>|~`#@&]|(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])")
"""What Markdown could take for markup; underscores inside a word are not."""
_NOT_PLAIN = re.compile(r"[`|\\]")


def render_markdown(diagnoses: Sequence[Diagnosis], *, top: int | None = None) -> str:
    """All diagnoses as Markdown; ``top`` is the number of folded cards a capture."""
    template = markdown_environment().get_template("diagnosis.md.j2")
    return template.render(pages=[_page(diagnosis, top) for diagnosis in diagnoses]).strip() + "\n"


def code(text: str) -> str:
    """A code span; as HTML where a backtick, a pipe or a backslash would end it or the cell."""
    line = printable(text)
    if _NOT_PLAIN.search(line) or line != line.strip() or not line:
        return f"<code>{_entities(line)}</code>"
    return f"`{line}`"


def prose(text: str) -> str:
    """A sentence without markup of its own but for code in backticks."""
    parts = _CODE_SPAN.split(printable(text))
    return "".join(
        code(part[1:-1]) if position % 2 else _entities(part) for position, part in enumerate(parts)
    )


def fenced(text: str) -> str:
    """A block to copy from; its fence is longer than any run of backticks inside."""
    line = printable(text)
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{line}\n{fence}"


def markdown_environment() -> Environment:
    """Templates with filters for all that comes from outside."""
    # The output is Markdown, where HTML escapes alone do not do: every value goes through a filter.
    environment = Environment(
        loader=PackageLoader("kernelprof.report", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters |= {
        "code": code,
        "prose": prose,
        "fenced": fenced,
        "html": lambda text: html.escape(printable(text)),
    }
    return environment


def _page(diagnosis: Diagnosis, top: int | None) -> dict[str, Any]:
    kernels = diagnosis.kernels
    cards = sentences.cards(kernels, top)
    shown = kernels[: max(MOST_ROWS, cards)]
    names = [fit(label, _LABEL_WIDTH) for label in labels(shown)]
    more_cards = sentences.rest(kernels, cards)
    return {
        "origin": diagnosis.origin,
        "overview": sentences.overview(diagnosis),
        "warnings": diagnosis.warnings,
        "rows": [_row(kernel, name) for kernel, name in zip(shown, names, strict=True)],
        "more_rows": sentences.rest(kernels, len(shown)),
        "cards": [
            _card(kernel, name, diagnosis.origin)
            for kernel, name in zip(kernels[:cards], names, strict=False)
        ],
        "more_cards": f"{more_cards}: `--top {len(kernels)}` shows them" if more_cards else "",
    }


def _row(kernel: KernelDiagnosis, name: str) -> dict[str, Any]:
    verdict, duration = kernel.verdict, kernel.duration_ns
    gain = sentences.gain_cell(verdict)
    return {
        "label": name,
        "headline": sentences.headline(verdict),
        "launches": f"{kernel.launches:,}",
        "time": "-" if duration is None else quantity(duration.median, "ns"),
        "share": share(kernel.share),
        "verdict": sentences.verdict_cell(verdict),
        "confidence": verdict.confidence.value,
        "gain": gain,
        "gain_known": gain.endswith("x"),
    }


def _card(kernel: KernelDiagnosis, name: str, origin: str) -> dict[str, Any]:
    verdict = kernel.verdict
    return {
        "label": name,
        "headline": sentences.headline(verdict),
        "name": middle(printable(kernel.name), _NAME_WIDTH),
        "summary": sentences.summary(kernel),
        "evidence": [
            (comparison(each), each.label, each.metric, sentences.origin(each))
            for each in verdict.evidence
        ],
        "parts": sentences.parts(verdict),
        "command": verdict.command,
        "invitation": sentences.invitation(verdict),
        "following": sentences.next_step(verdict.command, origin) if verdict.command else "",
    }


def _entities(text: str) -> str:
    return _PUNCTUATION.sub(
        lambda match: "".join(f"&#{ord(character)};" for character in match[0]), text
    )
