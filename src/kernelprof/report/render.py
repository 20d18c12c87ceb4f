"""Any result in any format that is offered for it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernelprof.report import writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kernelprof.model.comparison import Comparison
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.gate import GateResult
    from kernelprof.model.history import History
    from kernelprof.report.document import Document
    from kernelprof.report.writers import Screen

    Result = Diagnosis | Comparison | GateResult | History


def render(
    result: Result | Sequence[Diagnosis],
    output_format: str,
    screen: Screen | None = None,
    **options: Any,
) -> str:
    """A result, or diagnoses of several captures, in a format.

    ``screen`` is what a text is written for, and ``options`` are those of the kind's document
    (``top`` of a diagnosis). Raises :class:`UsageError` for a format that is not offered.
    """
    several: Any = result if isinstance(result, list | tuple) else [result]
    kind = several[0].kind if several else "diagnosis"

    def documents() -> Iterable[Document]:
        return [document(each, output_format, **options) for each in several]

    value = several if kind == "diagnosis" else result
    return writers.render(kind, output_format, value, documents, screen)


def document(result: Any, output_format: str = writers.TEXT, **options: Any) -> Document:
    """What a result says, in the detail that a format has room for."""
    made: Callable[..., Document]
    made = import_module(f"kernelprof.report.documents.{result.kind}").document
    if result.kind == "diagnosis":
        return made(result, **options)
    from kernelprof.report.documents.comparison import Detail

    detail = {"markdown": Detail.COMMENT, "html": Detail.FULL}.get(output_format, Detail.BRIEF)
    return made(result, detail, **options)


def render_kind(
    kind: str, value: Any, output_format: str, screen: Screen | None = None, **options: Any
) -> str:
    """A value in a format, by the document of its kind (``report/documents``)."""
    module = import_module(f"kernelprof.report.documents.{kind}")
    return writers.render(
        kind, output_format, value, lambda: [module.document(value, **options)], screen
    )


def page(result: Any, **options: Any) -> str:
    """A result as one HTML file; that of a diagnosis shows its ``capture`` as well."""
    from kernelprof.report.writers import html

    if result.kind != "diagnosis":
        return html.write(document(result, "html", **options))
    from kernelprof.report.documents import capture_page

    capture = result.capture
    return html.write(capture_page.document(capture, result, capture_page.beside(capture.contents)))


def fragment(result: Result) -> str:
    """A result for a notebook: HTML without scripts."""
    from kernelprof.report.writers import html

    return html.fragment(document(result))
