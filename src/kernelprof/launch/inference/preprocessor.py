"""What of a source the preprocessor leaves in, and what the command line has to define for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference.symbols import declared_name, is_device_function

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tree_sitter import Node


_PREDEFINED: Final = frozenset(("__CUDACC__", "__cplusplus", "__CUDA_ARCH__", "__linux__"))


def _defined_names(roots: Sequence[Node]) -> set[str]:
    return {
        syntax.child_text(node, "name")
        for root in roots
        for node in syntax.walk(root)
        if node.type in {"preproc_def", "preproc_function_def"}
    } | _PREDEFINED


def required_defines(node: Node, name: str, roots: Sequence[Node]) -> list[str]:
    """Return the macros that a kernel of that name is left out without, and that no file defines.

    They are those of ``#ifdef`` and ``#if defined`` around it, unless the other branch has such a
    kernel as well, or they are the compiler's.
    """
    defined = _defined_names(roots)
    word = re.compile(rf"\b{re.escape(name)}\b")
    names = [
        macro
        for macro, alternative in _conditions(node)
        if word.search(alternative) is None and macro not in defined
    ]
    return list(dict.fromkeys(reversed(names)))


def defines_of_macros(root: Node, headers: Sequence[Node]) -> list[str]:
    """Return the macros that headers ask for around the definitions of others that a source uses.

    No file defines them: a build does. Names that are declared or defined otherwise are left out.
    """
    defined = _defined_names([root, *headers])
    functions = [
        each
        for each in syntax.walk(root)
        if each.type == "function_definition" and is_device_function(each)
    ]
    used = {
        syntax.text(node)
        for function in functions
        for node in syntax.walk(function)
        if node.type == "identifier"
    }
    conditions: dict[str, list[tuple[str, str]]] = {}
    for header in headers:
        for node in syntax.walk(header):
            if node.type == "preproc_def" and (name := syntax.child_text(node, "name")) in used:
                around = list(_conditions(node))
                conditions[name] = around if name not in conditions else []
    for name in {name for tree in (root, *headers) for name in _declared(tree)}:
        conditions.pop(name, None)
    return list(
        dict.fromkeys(
            macro
            for name, around in conditions.items()
            for macro, alternative in around
            if macro not in defined and name not in alternative
        )
    )


def _declared(root: Node) -> Iterator[str]:
    # What is no macro, or one of the source's own
    for node in syntax.walk(root):
        if node.type == "preproc_def" and syntax.same(node.parent, root):
            yield syntax.child_text(node, "name")
        yield syntax.text(declared_name(syntax.child(node, "declarator")))


def _conditions(node: Node) -> Iterator[tuple[str, str]]:
    """The macros without which a node is left out, each with the text of the other branch."""
    inner, outer = node, node.parent
    while outer is not None:
        macro, alternative = _condition_name(outer), syntax.child(outer, "alternative")
        if macro and not macro.startswith("_") and not syntax.same(alternative, inner):
            yield macro, syntax.text(alternative)
        inner, outer = outer, outer.parent


def _condition_name(node: Node) -> str | None:
    """The name whose definition a condition of the preprocessor asks for."""
    if node.type == "preproc_ifdef" and syntax.text(node.children[0]) == "#ifdef":
        return syntax.child_text(node, "name")
    condition = syntax.child(node, "condition") if node.type.startswith("preproc_") else None
    if condition is not None and condition.type == "preproc_defined":
        return next((syntax.text(each) for each in condition.named_children), None)
    return None


def active_nodes(roots: Sequence[Node], defines: Collection[str] = ()) -> Iterator[Node]:
    """Yield the nodes of files in order, without inactive branches of the preprocessor.

    Inactive are ``#ifdef`` and ``#if defined`` of names that neither a file nor ``defines``
    defines, and ``#if 0``; other conditions count as true.
    """
    defined = _defined_names(roots).union(defines)
    for root in roots:
        pending = [root]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(_active_children(node, defined)))


def _active_children(node: Node, defined: set[str] | frozenset[str]) -> list[Node]:
    holds = _condition(node, defined)
    if holds is None:
        return node.children
    alternative = syntax.child(node, "alternative")
    if holds:
        return [n for n in node.children if not syntax.same(n, alternative)]
    return [] if alternative is None else [alternative]


def _condition(node: Node, defined: set[str] | frozenset[str]) -> bool | None:
    # None where the node is no condition of the preprocessor.
    if node.type == "preproc_ifdef":
        is_negative = bool(node.children) and syntax.text(node.children[0]) == "#ifndef"
        return is_negative or syntax.child_text(node, "name") in defined
    if node.type not in {"preproc_if", "preproc_elif"}:
        return None
    condition = syntax.child(node, "condition")
    if condition is None:
        return True
    if condition.type == "preproc_defined":
        names = [syntax.text(n) for n in condition.named_children]
        return bool(names) and names[0] in defined
    return syntax.text(condition) != "0"


_MACRO: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_HEADERS: Final = re.compile(
    r"NULL$|NAN$|INFINITY$|EOF$|U?INT\d*_|U?CHAR_|U?SHRT_|U?LONG_|U?LLONG_|SIZE_MAX|FLT_|DBL_|HUGE_"
    r"|M_|CUDART_|CUDA_|CU_|RAND_MAX|WARP_SZ|WARP_SHFL(_XOR|_UP|_DOWN)?$|WARP_(BALLOT|ANY)$|C10_"
)


def undefined_macros(root: Node, kernel: Node, parameters: Collection[str]) -> list[str]:
    """Return names in capitals that the kernel uses and no file declares, in order.

    Names that headers of CUDA, C and PyTorch define are left out by their usual forms.
    """
    declared = {*parameters}
    for node in syntax.walk(root):
        if node.type == "type_parameter_declaration":
            declared |= {syntax.text(word) for word in node.children}
        declared.add(syntax.child_text(node, "name"))
        declared.add(syntax.text(declared_name(syntax.child(node, "declarator"))))
    capitals = [
        syntax.text(node)
        for node in syntax.walk(kernel)
        if node.type in {"identifier", "type_identifier"} and _MACRO.fullmatch(syntax.text(node))
    ]
    return [n for n in dict.fromkeys(capitals) if n not in declared and not _HEADERS.match(n)]
