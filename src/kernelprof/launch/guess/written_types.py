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
AXES: Final = "xyzw"


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


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a structure."""

    name: str
    element: Element | None
    """``None`` of one whose type nobody knows."""
    count: int = 1
    """How many elements it has."""
    pointer: bool = False
    const: bool = False
    align: int | None = None
    """In bytes, where it is not that of the type."""


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
        name = self._named(bare(written))
        if (plain := plain_type(name)) is not None:
            return Element(plain)
        return self._vector(name) or self._structure(name)

    def _named(self, name: str) -> str:
        """A name with what stands behind it in its place."""
        for _ in range(_MOST_NAMES):
            known = self._chosen.get(name) or self._aliases.get(name)
            if known is None or bare(known) == name:
                break
            name = bare(known)
        return name

    def _vector(self, name: str) -> Element | None:
        """One of CUDA's own: ``float4``, ``half2``."""
        if name in _PAIRS:
            return Element(_PAIRS[name], 2)
        vector = _VECTOR.fullmatch(name)
        if vector is None:
            return None
        kind = _VECTORS.get(vector[1]) or plain_type(vector[1])
        return None if kind is None else Element(kind, int(vector[2]))

    def fields(self, written: str) -> list[Field] | None:
        """The members of a structure, or of one of CUDA's vectors, in their order.

        ``None`` for any other type, and where it is not known how they lie.
        """
        name = self._named(bare(written))
        if (whole := self._vector(name)) is not None and whole.count <= len(AXES):
            one = Element(whole.type)
            return [Field(axis, one) for axis in AXES[: whole.count]]
        node = self._structures.get(name)
        body = syntax.child(node, "body")
        if node is None or body is None or _is_unusual(node):
            return None
        found = []
        for member in body.named_children:
            if member.type in {"comment", "function_definition", "access_specifier"}:
                continue
            fields = self._field(member) if member.type == "field_declaration" else None
            if fields is None:
                return None
            found += fields
        return found or None

    def _field(self, node: Node) -> list[Field] | None:
        """What a line of a structure declares; nothing for a function."""
        written = syntax.text(syntax.child(node, "type"))
        declared = node.children_by_field_name("declarator")
        words = {syntax.text(each) for each in node.children}
        if (
            "static" in words
            or not declared
            or any(n.type == "bitfield_clause" for n in node.children)
        ):
            return None
        found = []
        for each in declared:
            if each.type == "function_declarator":
                continue
            pointer = each.type == "pointer_declarator"
            inner = syntax.child(each, "declarator") if pointer else each
            count = None if inner is None else _count(inner)
            element = self.element(written)
            if inner is None or count is None or (element is not None and element.mixed):
                return None
            while inner is not None and inner.type == "array_declarator":
                inner = syntax.child(inner, "declarator")
            vector = None if pointer else self._vector(self._named(bare(written)))
            align = None
            if element is not None and vector is not None and vector.count in {2, 4}:
                align = min(16, element.bytes)
            name = syntax.text(inner)
            found.append(Field(name, element, count, pointer, "const" in words, align))
        return found

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


def _is_unusual(structure: Node) -> bool:
    """Whether members may lie otherwise than their types say: bases, virtual functions, alignas."""
    text = syntax.text(structure)
    bases = any(each.type == "base_class_clause" for each in structure.children)
    return bases or re.search(r"\b(virtual|alignas|__align__|packed|union)\b", text) is not None


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
