"""Types as sources write them: what an element is, how many of them make one, how many bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.elements import element_bytes
from kernelprof.launch.signature import plain_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tree_sitter import Node

_QUALIFIERS: Final = re.compile(
    r"\b(const|volatile|static|struct|typename|__restrict__|__restrict|restrict|__grid_constant__)\b"
)
_VECTOR: Final = re.compile(r"(u?(?:char|short|int|long|longlong)|float|double)([1-4])")
_PAIRS: Final = {
    "half2": "float16", "__half2": "float16", "nv_bfloat162": "bfloat16",
    "__nv_bfloat162": "bfloat16", "cuFloatComplex": "float32", "cuComplex": "float32",
    "cufftComplex": "float32", "cuDoubleComplex": "float64",
}  # fmt: skip
_VECTORS: Final = {"longlong": "int64", "ulonglong": "uint64", "long": "int64", "ulong": "uint64"}
_BYTES: Final = "uint8"
_MOST_NAMES: Final = 16


@dataclass(frozen=True, slots=True)
class Element:
    """A type that an array may have: ``count`` numbers of one type side by side."""

    type: str
    count: int = 1
    mixed: bool = False
    """Whether it is a structure of different types, taken as bytes."""

    @property
    def bytes(self) -> int:
        """Of one element."""
        return element_bytes(self.type) * self.count


class Types:
    """The types that a source declares, beside those of C and CUDA.

    Structures count if all of their members are
    numbers, or vectors or arrays of them.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        """``nodes`` are those of all files that count."""
        self._chosen: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._structures: dict[str, Node] = {}
        for node in nodes:
            if node.type == "type_definition":
                self._typedef(node)
            elif node.type == "alias_declaration":
                name, kind = syntax.child(node, "name"), syntax.child(node, "type")
                self._aliases.setdefault(syntax.text(name), syntax.text(kind))
            elif node.type == "struct_specifier" and syntax.child(node, "body") is not None:
                self._structures[syntax.text(syntax.child(node, "name"))] = node
            elif node.type == "preproc_def":
                name, value = syntax.child(node, "name"), syntax.child(node, "value")
                if plain_type(bare(syntax.text(value))) is not None:
                    self._aliases.setdefault(syntax.text(name), syntax.text(value))

    def _typedef(self, node: Node) -> None:
        name, kind = syntax.child(node, "declarator"), syntax.child(node, "type")
        if name is None or name.type not in {"type_identifier", "primitive_type"}:
            return
        if kind is not None and kind.type == "struct_specifier" and syntax.child(kind, "body"):
            self._structures[syntax.text(name)] = kind
        else:
            self._aliases.setdefault(syntax.text(name), syntax.text(kind))

    def with_chosen(self, chosen: Mapping[str, str]) -> Types:
        """The same with other arguments of templates."""
        found = object.__new__(Types)
        found._chosen = {**self._chosen, **chosen}
        found._aliases, found._structures = self._aliases, self._structures
        return found

    def element(self, written: str) -> Element | None:
        """What a type is, without its pointers and qualifiers; ``None`` if nobody knows."""
        name = bare(written)
        for _ in range(_MOST_NAMES):
            known = self._chosen.get(name) or self._aliases.get(name)
            if known is None or bare(known) == name:
                break
            name = bare(known)
        if (plain := plain_type(name)) is not None:
            return Element(plain)
        if name in _PAIRS:
            return Element(_PAIRS[name], 2)
        if vector := _VECTOR.fullmatch(name):
            kind = _VECTORS.get(vector[1]) or plain_type(vector[1])
            return None if kind is None else Element(kind, int(vector[2]))
        return self._structure(name)

    def _structure(self, name: str) -> Element | None:
        node = self._structures.get(name)
        body = syntax.child(node, "body")
        if body is None:
            return None
        members: list[Element] = []
        for field in body.named_children:
            if field.type == "comment":
                continue
            if field.type != "field_declaration":
                return None
            kind = self.element(syntax.text(syntax.child(field, "type")))
            declared = field.children_by_field_name("declarator")
            counts = [_count(each) for each in declared]
            if kind is None or not counts or None in counts:
                return None
            members += [kind] * sum(each or 0 for each in counts)
        if not members:
            return None
        if len({each.type for each in members}) == 1:
            return Element(members[0].type, sum(each.count for each in members))
        return Element(_BYTES, _size_of(members), mixed=True)


def _count(declarator: Node) -> int | None:
    """How many elements a member has; ``None`` for a pointer or a function."""
    if declarator.type == "field_identifier":
        return 1
    if declarator.type == "array_declarator":
        inner = syntax.child(declarator, "declarator")
        size = syntax.text(syntax.child(declarator, "size"))
        below = None if inner is None else _count(inner)
        return int(size) * below if size.isdecimal() and below else None
    return None


def _size_of(members: list[Element]) -> int:
    """Bytes of a structure whose members lie as C has them."""
    at, most = 0, 1
    for each in members:
        align = element_bytes(each.type)
        most = max(most, align)
        at = -(-at // align) * align + each.bytes
    return -(-at // most) * most


def bare(written: str) -> str:
    """A type without qualifiers, pointers and references."""
    text = _QUALIFIERS.sub(" ", written)
    return " ".join(re.sub(r"[*&]|\[\w*\]", " ", text).split())
