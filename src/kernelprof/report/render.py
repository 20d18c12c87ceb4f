"""Any result in any format that is offered for it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kernelprof.model.comparison import Comparison
from kernelprof.model.diagnosis import Diagnosis
from kernelprof.model.gate import GateResult
from kernelprof.model.history import History
from kernelprof.report import writers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    if isinstance(result, Diagnosis):
        result = [result]

    def documents() -> Iterable[Document]:
        return [document(each, output_format, **options) for each in _each(result)]

    return writers.render(kind_of(result), output_format, result, documents, screen)


def _each(result: Result | Sequence[Diagnosis]) -> Sequence[Result]:
    single = isinstance(result, Comparison | GateResult | History | Diagnosis)
    return [result] if single else result  # type: ignore[list-item, return-value]


def kind_of(result: object) -> str:
    """The kind of a result, as writers and schemas call it."""
    if isinstance(result, GateResult):
        return "gate"
    if isinstance(result, Comparison):
        return "comparison"
    return "history" if isinstance(result, History) else "diagnosis"


def document(result: Result, output_format: str = writers.TEXT, **options: Any) -> Document:
    """What a result says, in the detail that a format has room for."""
    if isinstance(result, Diagnosis):
        from kernelprof.report.documents import diagnosis

        return diagnosis.document(result, **options)
    from kernelprof.report.documents.comparison import Detail

    detail = {"markdown": Detail.COMMENT, "html": Detail.FULL}.get(output_format, Detail.BRIEF)
    if isinstance(result, History):
        from kernelprof.report.documents import history

        return history.document(result, detail)
    if isinstance(result, GateResult):
        from kernelprof.report.documents import gate

        return gate.document(result, detail, **options)
    from kernelprof.report.documents import comparison

    return comparison.document(result, detail, **options)


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

    if not isinstance(result, Diagnosis):
        return html.write(document(result, "html", **options))
    from kernelprof.report.documents import capture_page

    capture: Any = result.capture  # type: ignore[attr-defined]
    return html.write(capture_page.document(capture, result, capture_page.beside(capture.contents)))


def fragment(result: Result) -> str:
    """A result for a notebook: HTML without scripts."""
    from kernelprof.report.writers import html

    return html.fragment(document(result))
