"""Types for which macros instantiate templates: ``AT_DISPATCH_FLOATING_TYPES(type, name, [&] {``.

Libraries launch a kernel for each of several element types. The sizes of a launch are then told of
one of them: ``float`` where it is among them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.launch.inference.symbols import called_name

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernelprof.launch.inference.symbols import SourceSymbols
    from kernelprof.launch.signature import KernelSignature, TemplateParameter

_MACRO: Final = re.compile(r"[A-Z0-9_]*(DISPATCH|INSTANTIATE)[A-Z0-9_]*")
_TYPES: Final = (
    (re.compile(r"(?<!B)FLOAT(?!16)|ALL_TYPES|DOUBLE|\bfloat\b"), "float"),
    (re.compile(r"HALF|F(P|LOAT)16|\bhalf\b"), "__half"),
    (re.compile(r"BF(LOAT)?16|BFLOAT"), "__nv_bfloat16"),
    (re.compile(r"INTEGRAL|INDEX"), "int"),
)
"""Words of a macro's name or text, and the type that is taken."""
_DISPATCHED: Final = re.compile(r"\b\w*scalar_t\w*\b")
"""What such macros call the type."""


@dataclass(frozen=True, slots=True)
class DispatchedType:
    """A type, and the macro that instantiates templates for it."""

    type: str
    macro: str

    def resolve(self, text: str | None, *, is_element: bool, is_known: bool) -> str | None:
        """A template argument that the host writes, with this type in the place of names for it.

        ``is_element`` for the type of elements or scalars, ``is_known`` where the text is one.
        """
        if is_element and not is_known:
            return self.type
        return None if text is None else _DISPATCHED.sub(self.type, text)


def find_dispatched(node: Node | None, source: SourceSymbols) -> DispatchedType | None:
    """The type of the macro around a launch, else of the first that instantiates templates."""
    while node is not None:
        if node.type == "call_expression" and (around := _read(node, source)) is not None:
            return around
        node = node.parent
    calls = (_read(each, source) for each in source.nodes["call_expression"])
    return next((each for each in calls if each is not None), None)


def _read(call: Node, source: SourceSymbols) -> DispatchedType | None:
    name = called_name(call)
    if _MACRO.fullmatch(name) is None:
        return None
    text = " ".join((name, *_expanded(name, source)))
    kinds = (kind for words, kind in _TYPES if words.search(text) is not None)
    kind = next(kinds, None)
    return None if kind is None else DispatchedType(kind, name)


def _expanded(name: str, source: SourceSymbols) -> list[str]:
    """The text of a macro and of those in it."""
    texts, pending, seen = [], [name], set[str]()
    while pending:
        macro = pending.pop()
        if macro in seen or macro not in source.macros:
            continue
        seen.add(macro)
        texts.append(source.macros[macro][1])
        pending += re.findall(r"\w+", texts[-1])
    return texts


def is_element(parameter: TemplateParameter, kernel: KernelSignature) -> bool:
    """Whether a template's parameter is a type of elements of arrays, or of scalars."""
    if parameter.kind not in {"typename", "class"}:
        return False
    words = re.compile(rf"\b{re.escape(parameter.name)}\b(?!\s*<|::)")
    return any(words.search(each.written) is not None for each in kernel.parameters)
