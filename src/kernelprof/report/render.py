"""Any result in any format that is offered for it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import UsageError
from kernelprof.report import writers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kernelprof.model.comparison import Comparison
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.gate import GateResult
    from kernelprof.model.history import History
    from kernelprof.report.document import Block, Document
    from kernelprof.report.writers import Screen

    Result = Diagnosis | Comparison | GateResult | History


def render_result(
    result: Result | Sequence[Diagnosis],
    output_format: str,
    screen: Screen | None = None,
    **options: Any,
) -> str:
    """A result, or diagnoses of several captures, in a format.

    ``screen`` is what a text is written for, and ``options`` are those of the kind's document
    (``top`` and ``explain`` of a diagnosis, which a brief one has not). Raises
    :class:`UsageError` for a format that is not offered.
    """
    several: Any = result if isinstance(result, list | tuple) else [result]
    kind = several[0].kind if several else "diagnosis"
    made = [partial(document, each, output_format, **options) for each in several]
    if kind == "diagnosis" and output_format == writers.BRIEF and several:
        made = [partial(_document, writers.BRIEF, several)]
    return _written(kind, several if kind == "diagnosis" else result, output_format, screen, made)


def document(result: Any, output_format: str = writers.TEXT, **options: Any) -> Document:
    """What a result says, in the detail that a format has room for.

    The page of a diagnosis is another document, ``documents/capture_page.py``.
    """
    if result.kind == "diagnosis":
        brief = output_format == writers.TEXT and not options.pop("explain", False)
        return _document("diagnosis", result, **{**options, "explain": not brief})
    from kernelprof.report.documents.comparison import Detail

    detail = {"markdown": Detail.COMMENT, "html": Detail.FULL}.get(output_format, Detail.BRIEF)
    return _document(result.kind, result, detail, **options)


def render_kind(
    kind: str, value: Any, output_format: str, screen: Screen | None = None, **options: Any
) -> str:
    """A value in a format, by the document of its kind (``report/documents``)."""
    made = partial(_document, kind, value, **options)
    return _written(kind, value, output_format, screen, [made])


def _document(kind: str, *given: Any, **options: Any) -> Document:
    # ``diagnosis`` is ``document`` of that module, ``fleet_run`` ``document_of_run`` of ``fleet``.
    name, _, part = kind.partition("_")
    module = import_module(f"kernelprof.report.documents.{name}")
    write = module.document if not part else getattr(module, f"document_of_{part}")
    document: Document = write(*given, **options)
    return document


def _written(
    kind: str,
    value: object,
    name: str,
    screen: Screen | None,
    documents: Iterable[Callable[[], Document]],
) -> str:
    writer = writers.find(kind, name)
    if not writer.of_document:
        return writer.write(value, *([kind] if len(writer.kinds) > 1 else []))
    given = [screen] if writer.on_screen else []
    return "\n".join(writer.write(made(), *given) for made in documents)


def render_page(result: Any, **options: Any) -> str:
    """A result as one HTML file; that of a diagnosis shows its ``capture`` as well.

    Of several diagnoses the file shows one after the other.
    """
    from kernelprof.report.writers import html

    several = result if isinstance(result, list | tuple) else [result]
    if several[0].kind != "diagnosis":
        return html.write(document(several[0], "html", **options))
    return html.write(_of_captures(several))


def _of_captures(diagnoses: Sequence[Any]) -> Document:
    from kernelprof.report.documents import capture_page

    sources = [
        (each.capture, each, capture_page.read_attachments(each.capture.contents))
        for each in diagnoses
    ]
    if len(sources) == 1:
        return capture_page.document(*sources[0])
    return capture_page.document_of_captures(sources)


def render_fragment(result: Result) -> str:
    """A result for a notebook: the blocks of its page, as HTML without scripts.

    A diagnosis has the ranked table and its kernels folded, without source and list of metrics;
    that of many kernels is its text.
    """
    from kernelprof.report.writers import html
    from kernelprof.report.writers.html import MOST_OPEN

    if result.kind != "diagnosis":
        from kernelprof.report.documents.comparison import Detail

        return html.fragment(_document(result.kind, result, Detail.FULL))
    if 0 < len(result.kernels) <= MOST_OPEN and hasattr(result, "capture"):
        page = _of_captures([result])
        blocks = _for_notebook(page.blocks, folded=len(result.kernels) > 1)
        return html.fragment(replace(page, blocks=tuple(blocks)))
    return html.fragment(document(result, explain=True))


def render_charts(result: Any, name: str) -> str:
    """The charts of one kind on the page of a diagnosis, for a notebook.

    Raises :class:`UsageError` for a kind that the page has not.
    """
    from kernelprof.report.document import Chart, Document, Section
    from kernelprof.report.writers import html

    def charts(blocks: Iterable[Block]) -> Iterator[Chart]:
        for block in blocks:
            if isinstance(block, Section):
                yield from charts(block.blocks)
            elif isinstance(block, Chart):
                yield block

    offered = [*charts(_of_captures([result]).blocks)]
    chosen = tuple(each for each in offered if each.kind.rpartition(":")[2] == name)
    if not chosen:
        names = dict.fromkeys(each.kind.rpartition(":")[2] for each in offered)
        raise UsageError(
            f"this diagnosis has no chart {name!r}", hint=f"available: {', '.join(names)}"
        )
    return html.fragment(Document(name, chosen))


_ON_PAGE_ONLY: Final = ("Source", "Where this comes from")


def _for_notebook(blocks: Iterable[Block], *, folded: bool) -> Iterator[Block]:
    """Yield the blocks that matter beside code: no source and no list of all metrics."""
    from kernelprof.report.document import Layout, Section

    for block in blocks:
        if not isinstance(block, Section):
            yield block
        elif (block.anchor or not block.folded) and block.title not in _ON_PAGE_ONLY:
            inside = replace(block, blocks=tuple(_for_notebook(block.blocks, folded=folded)))
            is_kernel = folded and block.layout is Layout.HERO
            yield replace(inside, folded=True) if is_kernel else inside
