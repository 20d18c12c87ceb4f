"""Formats, one file each: a writer of documents, or of the results themselves.

A file here is found by being here. It defines ``WRITER``, and imports what is heavy only when it
writes, so that looking at all of them is cheap.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from kernelprof.errors import UsageError
from kernelprof.model.names import ELLIPSIS, encodable

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT: Final = "text"
BRIEF: Final = "brief"
DEFAULT_TOKENS: Final = 800
"""Of a brief answer: five kernels with all that is said of them, or a few hundred words."""
_FILES: Final = {TEXT: "terminal"}
"""Formats whose file is not called after them."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What a text is written for; ``tokens`` are those that a brief one may have."""

    width: int = 80
    color: bool = False
    encoding: str = "utf-8"
    tokens: int = DEFAULT_TOKENS

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
    file = _FILES.get(name, name)
    writer = _load(file) if file in _files() else None
    if writer is None or writer.name != name or not writer.offers(kind):
        raise UsageError(
            f"the format {name!r} is not offered for this result ({kind})",
            hint=f"choose one of {', '.join(offered_formats(kind))}",
        )
    return writer


def offered_formats(kind: str) -> tuple[str, ...]:
    """The formats for results of a kind, the one for the terminal first."""
    writers = map(_load, _files())
    names = [each.name for each in writers if each is not None and each.offers(kind)]
    return tuple(sorted(names, key=lambda name: (name != TEXT, name)))


def _files() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(__path__)]


def _load(file: str) -> Writer | None:
    writer: Writer | None = getattr(import_module(f"{__name__}.{file}"), "WRITER", None)
    return writer
