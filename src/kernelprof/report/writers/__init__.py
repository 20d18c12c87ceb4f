"""Formats, one file each: a writer of documents, or of the results themselves.

A file here is found by being here. It defines ``WRITER``, and imports what is heavy only when it
writes, so that looking at all of them is cheap.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.errors import UsageError
from kernelprof.model.names import ELLIPSIS, encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernelprof.report.document import Document

TEXT: Final = "text"
_FILES: Final = {TEXT: "terminal"}
"""Formats whose file is not called after them."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What a text is written for."""

    width: int = 80
    color: bool = False
    encoding: str = "utf-8"

    @property
    def ellipsis(self) -> str:
        """What stands for what was cut, in an encoding that may lack the usual character."""
        return encodable(ELLIPSIS, self.encoding)


@dataclass(frozen=True, slots=True)
class Writer:
    """A format.

    ``write`` takes one document where ``of_document``, else the result itself, which is one of
    ``kinds``, and its kind where there are several. A writer of documents takes every kind that has
    a document, unless ``kinds`` says less; ``on_screen`` says that it takes the screen as well.
    """

    name: str
    suffix: str
    write: Callable[..., str]
    kinds: tuple[str, ...] = ()
    of_document: bool = False
    on_screen: bool = False

    def offers(self, kind: str) -> bool:
        """Whether results of a kind can be written so."""
        return kind in self.kinds or (self.of_document and not self.kinds)


def find(kind: str, name: str) -> Writer:
    """The writer of a format for results of a kind.

    Raises :class:`UsageError`, which names the formats that there are, for any other.
    """
    found = _load(_FILES.get(name, name)) if name.isidentifier() else None
    if found is None or found.name != name or not found.offers(kind):
        raise UsageError(
            f"the format {name!r} is not offered for this result ({kind})",
            hint=f"choose one of {', '.join(offered(kind))}",
        )
    return found


def offered(kind: str) -> tuple[str, ...]:
    """The formats for results of a kind, the one for the terminal first."""
    writers = [_load(module.name) for module in pkgutil.iter_modules(__path__)]
    names = [each.name for each in writers if each is not None and each.offers(kind)]
    return tuple(sorted(names, key=lambda name: (name != TEXT, name)))


def render(
    kind: str,
    name: str,
    result: object,
    documents: Callable[[], Iterable[Document]],
    screen: object = None,
) -> str:
    """A result in a format; its documents are asked for only where the format is made of them."""
    writer = find(kind, name)
    if not writer.of_document:
        return writer.write(result, *([kind] if len(writer.kinds) > 1 else []))
    if writer.on_screen:
        return "\n".join(writer.write(each, screen) for each in documents())
    return "\n".join(map(writer.write, documents()))


def _load(file: str) -> Writer | None:
    place = f"{__name__}.{file}"
    try:
        module = importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name != place:
            raise
        return None
    writer: Writer | None = getattr(module, "WRITER", None)
    return writer
