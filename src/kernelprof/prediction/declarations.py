"""The declarations of a CUDA source, and which of them are for the device.

``nvcc`` takes the host's code out of a source and hands it to another compiler. NVRTC takes device
code alone: it refuses a ``__host__`` function, and knows nothing of what the host's code names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tree_sitter import Node

_SPACES: Final = frozenset(
    ("__device__", "__global__", "__constant__", "__managed__", "__shared__", "__grid_constant__")
)
"""What stands in a declaration that is for the device."""

_WITHOUT_NAMES: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.DOTALL
)
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_INSTANTIATES: Final = re.compile(r"\btemplate\b(?!\s*<)")
_TEMPLATE: Final = re.compile(r"\btemplate\s*<[^<>]*>")
_DECLARES: Final = re.compile(r"\b(struct|class|union|enum|constexpr|consteval|using|typedef)\b")
"""Words of what device code may use of the host's."""
HOST_TEMPLATE: Final = "template void"
"""Stands among names for an explicit instantiation, and for a template of functions."""

_CLASSES: Final = frozenset(("struct_specifier", "class_specifier", "union_specifier"))
_BRANCHES: Final = frozenset(
    ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef")
)
_MACROS: Final = frozenset(("preproc_def", "preproc_function_def"))
_TYPES: Final = _CLASSES | {
    *("enum_specifier", "type_definition", "alias_declaration", "concept_definition"),
    "namespace_alias_definition",
}
"""What the device needs if its code names it."""

_OF_KERNELS: Final = frozenset(
    (
        *("__global__", "primitive_type", "launch_bounds", "storage_class_specifier", "comment"),
        *("attribute_declaration", "function_declarator", "compound_statement"),
    )
)
"""What a kernel consists of to which no macro adds."""

_SCOPES: Final = frozenset(("namespace_definition", "linkage_specification"))
_NEVER: Final = frozenset(
    ("comment", "preproc_include", "preproc_call", "preproc_directive", *_MACROS)
)


class Where(Enum):
    """Where a declaration is needed."""

    DEVICE = "device"
    KERNEL = "kernel"
    """The definition of a kernel: for the device if it is the one, or device code names it."""
    EITHER = "either"
    """A type, a constant, a constexpr function: for the device if device code names it."""
    HOST = "host"
    ASSERTION = "assertion"
    """A ``static_assert``, which is needed nowhere, and can stay where all that it names does."""
    INSTANCE = "instance"
    """Of a template, which it follows."""


_OTHERS: Final = {
    "static_assert_declaration": Where.ASSERTION,
    "template_instantiation": Where.INSTANCE,
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declaration outside functions and classes; its place in bytes of the source."""

    start: int
    end: int
    where: Where
    names: frozenset[str]
    """What it declares."""
    used: frozenset[str]
    """The names that occur in it, without those in ``cuts``."""
    cuts: tuple[tuple[int, int], ...] = ()
    """Members of a class that are for the host alone."""


def find_names(text: str) -> frozenset[str]:
    """The names in a piece of source: comments, strings and characters hold none."""
    return frozenset(_NAME.findall(_WITHOUT_NAMES.sub(" ", text)))


def find_macros(root: Node) -> dict[str, frozenset[str]]:
    """The macros that a source defines, with the names that each stands for.

    :data:`HOST_TEMPLATE` is among them where a template is instantiated, or one of a function.
    """
    bodies: dict[str, frozenset[str]] = {}
    for node in syntax.walk(root):
        if node.type in _MACROS:
            name = syntax.text(syntax.child(node, "name"))
            text = syntax.text(syntax.child(node, "value"))
            body = find_names(text)
            if _is_of_host_templates(text):
                body |= {HOST_TEMPLATE}
            bodies[name] = bodies.get(name, frozenset()) | body
    return bodies


def _is_of_host_templates(text: str) -> bool:
    # If no word of CUDA is in it
    if _INSTANTIATES.search(text) is not None:
        return True
    body, templates = _TEMPLATE.subn(" ", text)
    return templates > 0 and _DECLARES.search(body) is None


def find_device_words(macro_bodies: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The words that make a declaration one for the device: those of CUDA, and macros of them."""
    return _with_macros(_SPACES, macro_bodies)


def find_instantiations(
    macro_bodies: Mapping[str, Collection[str]], words: frozenset[str]
) -> frozenset[str]:
    """The macros that instantiate or define templates of the host; ``words`` are the device's."""
    hosts = {name: body for name, body in macro_bodies.items() if name not in words}
    return _with_macros({HOST_TEMPLATE}, hosts)


def _with_macros(
    names: Collection[str], macro_bodies: Mapping[str, Collection[str]]
) -> frozenset[str]:
    """Names, and the macros that stand for them, also by way of others."""
    words = set(names)
    while (
        more := {name for name, body in macro_bodies.items() if not words.isdisjoint(body)} - words
    ):
        words |= more
    return frozenset(words)


def find_declarations(
    data: bytes,
    root: Node,
    words: frozenset[str],
    instantiations: frozenset[str] = frozenset(),
    macros: Collection[str] = (),
) -> list[Declaration]:
    """The declarations of a source, which was parsed.

    ``words`` are :func:`find_device_words`, ``instantiations`` :func:`find_instantiations`,
    ``macros`` the names of all. What the parser cannot read stays: it is taken for device code.
    """
    declarations = []
    for node, inner in _outermost_declarations(root):
        declaration = _read_declaration(data, node, inner, words)
        called = next(iter(inner.named_children), None)
        if inner.type == "expression_statement" and syntax.child_text(called, "function") in (
            instantiations
        ):
            declaration = replace(declaration, where=Where.HOST)
        if inner.type == "template_instantiation" and "__global__" in find_names(_head(inner)):
            declaration = replace(declaration, where=Where.INSTANCE)
        elif _is_kernel(inner) and declaration.names.isdisjoint(macros):
            declaration = replace(declaration, where=Where.KERNEL)
        declarations.append(declaration)
    return declarations


def _is_kernel(node: Node) -> bool:
    """Whether a definition is that of a kernel and nothing else, with nothing from a macro."""
    parts = {each.type for each in node.children}
    plain = "__global__" in parts and parts <= _OF_KERNELS and not node.has_error
    is_function = plain and node.type == "function_definition"
    return is_function and b"#include" not in (node.text or b"").replace(b" ", b"")


def _outermost_declarations(root: Node) -> Iterator[tuple[Node, Node]]:
    """Declarations with what is declared, inside templates and ``extern "C"``."""
    pending = root.named_children[::-1]
    while pending:
        node = pending.pop()
        body = syntax.child(node, "body")
        if node.type in _BRANCHES:
            pending += _nodes_of_branch(node)[::-1]
        elif node.type in _SCOPES and body is not None and body.type == "declaration_list":
            pending += body.named_children[::-1]
        elif node.type not in _NEVER:
            yield node, _unwrap(node)


def _nodes_of_branch(node: Node) -> list[Node]:
    """What stands between ``#if`` and ``#endif``, also after ``#else``."""
    condition = syntax.child(node, "condition") or syntax.child(node, "name")
    return [each for each in node.named_children if not syntax.same(each, condition)]


def _unwrap(node: Node) -> Node:
    """What a template or a specification of linkage declares."""
    while node.type in {"template_declaration", "linkage_specification", "friend_declaration"}:
        skipped = {"template_parameter_list", "requires_clause", "string_literal", "comment"}
        inside = [each for each in node.named_children if each.type not in skipped]
        if not inside:
            break
        node = inside[-1]
    return node


def _read_declaration(data: bytes, node: Node, inner: Node, words: frozenset[str]) -> Declaration:
    cuts = tuple(sorted(_host_members(inner, words)))
    text, at = "", node.start_byte
    for start, end in (*cuts, (node.end_byte, node.end_byte)):
        text += data[at:start].decode("utf-8", "replace") + " "
        at = end
    used = find_names(text)
    where, names = _classify(inner, words)
    if inner.type == "using_declaration" and where is Where.DEVICE:
        used = frozenset()
    return Declaration(node.start_byte, node.end_byte, where, names, used, cuts)


def _classify(inner: Node, words: frozenset[str]) -> tuple[Where, frozenset[str]]:
    names = frozenset(_declared_names(inner))
    head = find_names(_head(inner))
    if inner.type in _TYPES or _is_odd_class(inner):
        where = Where.EITHER
    elif not words.isdisjoint(head):
        where = Where.DEVICE
    elif inner.type == "function_definition":
        where = _classify_function(inner, head)
    elif inner.type == "declaration":
        where = _classify_variable(inner)
    elif inner.type == "using_declaration":
        where = _classify_using(inner)
    else:
        where = _OTHERS.get(inner.type, Where.DEVICE)
    return where, names


def _classify_using(node: Node) -> Where:
    """A namespace is there for both, but for those within ``std``; a name is as the name is."""
    if not any(each.type == "namespace" for each in node.children):
        return Where.EITHER
    scopes = syntax.text(node.named_children[0]).split("::")
    return Where.HOST if scopes[0] == "std" and len(scopes) > 1 else Where.DEVICE


def _classify_function(node: Node, head: frozenset[str]) -> Where:
    """Where a function without a word of CUDA is needed.

    An unknown word before its name may be a macro of a header that is not here.
    """
    if {"constexpr", "consteval"} & head:
        return Where.EITHER
    unknown = any(each.type == "ERROR" for each in node.children)
    return Where.EITHER if unknown and "<<<" not in syntax.text(node) else Where.HOST


def _classify_variable(node: Node) -> Where:
    qualifiers = {syntax.text(each) for each in node.children if each.type == "type_qualifier"}
    if "constexpr" in qualifiers:
        return Where.EITHER
    is_class = any(each.type in _CLASSES or each.type == "enum_specifier" for each in node.children)
    constant = "const" in qualifiers and not _is_function(node)
    return Where.EITHER if is_class or constant else Where.HOST


def _is_odd_class(node: Node) -> bool:
    """A class with an attribute that the grammar takes for the head of a function."""
    kind = syntax.child(node, "type")
    return (
        node.type == "function_definition"
        and kind is not None
        and kind.type in _CLASSES
        and syntax.function_declarator(syntax.child(node, "declarator")) is None
    )


def _declared_names(node: Node) -> Iterator[str]:
    """The names that a declaration declares; of an operator, the types that it is for."""
    if _is_odd_class(node):
        yield from find_names(_head(node))
    for name in node.children_by_field_name("name"):
        yield from find_names(syntax.text(name).partition("<")[0])
    if node.type == "static_assert_declaration":
        return
    if node.type == "using_declaration":
        yield syntax.text(node.named_children[-1]).rpartition("::")[2]
    if node.type == "namespace_alias_definition":
        yield syntax.text(node.named_children[0])
    scoped = any(each.type in {"class", "struct"} for each in node.children)
    for each in node.children:
        if each.type == "enumerator_list" and not scoped:
            yield from (syntax.text(syntax.child(e, "name")) for e in each.named_children)
        elif each.type in _CLASSES or each.type == "enum_specifier":
            yield from _declared_names(each)
    for declarator in node.children_by_field_name("declarator"):
        yield from _names_of_declarator(declarator)


def _names_of_declarator(node: Node) -> Iterator[str]:
    function = syntax.function_declarator(node)
    while (inner := syntax.inner_declarator(node)) is not None:
        node = inner
    if node.type.startswith("operator"):
        yield from find_names(syntax.text(syntax.child(function, "parameters")))
    else:
        yield from find_names(re.sub("<.*>", " ", syntax.text(node)))


def _host_members(node: Node, words: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Where the members of a class stand that device code cannot call."""
    pending = [node, *node.children]
    while pending:
        each = pending.pop(0)
        body = syntax.child(each, "body")
        if each.type in _BRANCHES:
            members = _nodes_of_branch(each)
        elif each.type in _CLASSES and body is not None:
            members = body.named_children
        else:
            continue
        for member in members:
            inner = _unwrap(member)
            if _is_for_the_host(inner, words):
                yield member.start_byte, member.end_byte
            else:
                pending += [inner, *inner.children]


def _is_for_the_host(member: Node, words: frozenset[str]) -> bool:
    """Whether a member of a class is a function that device code cannot call."""
    if member.type != "function_definition" and not _is_function(member):
        return False
    head = find_names(_head(member))
    given = any(
        each.type in {"default_method_clause", "delete_method_clause"} for each in member.children
    )
    device = words | {"constexpr", "consteval"}
    return head.isdisjoint(device) and (not given or "__host__" in head)


def _is_function(node: Node) -> bool:
    """Whether a declaration declares a function; a pointer to one stands in parentheses."""
    if node.type not in {"function_definition", "declaration", "field_declaration"}:
        return False
    declarators = (
        syntax.function_declarator(each) for each in node.children_by_field_name("declarator")
    )
    names = (syntax.child(each, "declarator") for each in declarators if each is not None)
    return any(each is not None and each.type != "parenthesized_declarator" for each in names)


def _head(node: Node) -> str:
    """What stands before the body of a function, or before the value of a variable."""
    body = syntax.child(node, "body")
    end = node.end_byte if body is None else body.start_byte
    head = (node.text or b"")[: end - node.start_byte].decode("utf-8", "replace")
    return head if node.type == "function_definition" else head.partition("=")[0]
