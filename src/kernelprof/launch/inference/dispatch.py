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
_INTEGER: Final = "int"
_TYPES: Final = (
    (re.compile(r"REDUCED"), "__half"),
    (re.compile(r"(?<!B)FLOAT(?!8|16)|ALL_TYPES|\bfloat\b"), "float"),
    (re.compile(r"DOUBLE"), "double"),
    (re.compile(r"HALF|(?<!B)F(P|LOAT)16|\bhalf\b"), "__half"),
    (re.compile(r"BF(LOAT)?16|BFLOAT"), "__nv_bfloat16"),
    (re.compile(r"INTEGRAL"), _INTEGER),
)
"""Words of a macro's name or text, and the type that is taken."""
_OF_INDICES: Final = re.compile(r"INDEX|IDX", re.IGNORECASE)
"""Macros and names of types for indices, which are whole numbers."""
_DISPATCHED: Final = re.compile(r"\b\w*scalar_t\w*\b")
"""What such macros call the type."""
_OF_FUNCTIONS: Final = re.compile(r"op|fun|fn|^f$|lambda|policy|trait|layout", re.IGNORECASE)
"""Type parameters that say what is done, not to what."""


@dataclass(frozen=True, slots=True)
class DispatchedType:
    """A type, and the macro that instantiates templates for it."""

    type: str
    macro: str

    def resolve(self, text: str | None, name: str, source: SourceSymbols) -> str | None:
        """A template's argument that the host writes, with this type in the place of names for it.

        ``name`` is that of a parameter for a type of elements.
        """
        if text is None:
            return None if _OF_FUNCTIONS.search(name) else self._type_for(name)
        if source.types.element(text) is not None:
            return text
        if text.isidentifier() and text not in source.classes:
            return self._type_for(f"{name} {text}")
        return self.within(text)

    def within(self, text: str) -> str:
        """A template's argument with this type in the place of what macros call it."""
        return _DISPATCHED.sub(self.type, text)

    def _type_for(self, names: str) -> str:
        return _INTEGER if _OF_INDICES.search(names) else self.type


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
    if _MACRO.fullmatch(name) is None or _OF_INDICES.search(name):
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
    word = re.compile(rf"\b{re.escape(parameter.name)}\b(?!\s*<|::)")
    return any(word.search(each.written) is not None for each in kernel.parameters)
