"""Arrays of the host's code: how long they are, and which whole numbers it puts into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.names import arguments, called, function_around, innermost, uncast
from kernelprof.launch.guess.values import Elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.names import Frame
    from kernelprof.launch.guess.values import Values

_ALLOCATES: Final = {
    "cudaMalloc": 1, "cudaMallocManaged": 1, "cudaMallocAsync": 1, "cudaMallocHost": 1,
    "cudaHostAlloc": 1, "hipMalloc": 1,
}  # fmt: skip
"""Functions that allocate, and which of their arguments the bytes are."""
_VECTORS: Final = ("device_vector", "host_vector", "vector")
_DEEPEST: Final = 6


def length(  # noqa: PLR0911
    node: Node | None, frame: Frame, values: Values, element_bytes: int, depth: int = 0
) -> Amount | None:
    """How many elements of so many bytes lie at a pointer that a launch is given."""
    inner = uncast(node)
    if inner is None or depth > _DEEPEST:
        return None
    if inner.type == "binary_expression":
        return _behind(inner, frame, values, element_bytes, depth)
    if inner.type == "call_expression":
        return _of_vector(inner, frame, values)
    name = syntax.text(inner)
    for size in _allocations(name, frame):
        found = values.of(size, Elsewhere(frame))
        if found is not None:
            return amounts.divided(found, amounts.number(element_bytes))
    if inner.type == "identifier" and frame.has_parameter(name) and frame.caller is not None:
        return length(frame.argument(name), frame.caller, values, element_bytes, depth + 1)
    if inner.type == "identifier":
        for value in frame.values(name, 1 << 60):
            found = length(value, frame, values, element_bytes, depth + 1)
            if found is not None:
                return found
    return None


def _behind(
    node: Node, frame: Frame, values: Values, element_bytes: int, depth: int
) -> Amount | None:
    """``p + offset``: what is left of an array behind an offset."""
    if syntax.text(syntax.child(node, "operator")) != "+":
        return None
    whole = length(syntax.child(node, "left"), frame, values, element_bytes, depth + 1)
    offset = values.of(syntax.child(node, "right"), frame)
    return None if whole is None or offset is None else whole - offset


def _of_vector(node: Node, frame: Frame, values: Values) -> Amount | None:
    """``v.data()`` of a vector that is made with a length."""
    function = syntax.child(node, "function")
    while function is not None and function.type in {"field_expression", "call_expression"}:
        key = "argument" if function.type == "field_expression" else "function"
        function = syntax.child(function, key)
    name = syntax.text(function)
    if not any(each in (frame.declared(name) or "") for each in _VECTORS):
        return None
    for value in frame.values(name, 1 << 60):
        given = [n for n in value.named_children if n.type != "comment"]
        if value.type == "argument_list" and given:
            return values.of(given[0], Elsewhere(frame))
    return None


def _allocations(name: str, frame: Frame) -> Iterator[Node]:
    """The bytes that are allocated for a pointer of that name; the function's own first."""
    found = []
    body = frame.body
    for node in frame.source.nodes["call_expression"]:
        at = _ALLOCATES.get(called(node))
        given = arguments(node)
        if at is None or len(given) <= at or syntax.text(uncast(given[0])) != name:
            continue
        own = body is not None and body.start_byte <= node.start_byte < body.end_byte
        found.append((not own, node, given[at]))
    for foreign, _, size in sorted(found, key=lambda each: (each[0], each[1].start_byte)):
        # A global, or a member, may be allocated in another function than it is passed on in.
        is_local = (
            frame.function is not None and name.isidentifier() and not _is_global(name, frame)
        )
        if not (foreign and is_local):
            yield size


def _is_global(name: str, frame: Frame) -> bool:
    return any(
        syntax.text(innermost(part)) == name
        for node in frame.source.nodes["declaration"]
        if function_around(node) is None
        for part in node.children_by_field_name("declarator")
    )


def below(node: Node | None, frame: Frame, values: Values, depth: int = 0) -> Amount | None:
    """The bound of random numbers that the host puts into an array: ``rand() % 16`` gives 16."""
    inner = uncast(node)
    if inner is None or depth > _DEEPEST:
        return None
    name = syntax.text(inner)
    if inner.type == "identifier" and frame.has_parameter(name) and frame.caller is not None:
        return below(frame.argument(name), frame.caller, values, depth + 1)
    origins = {name, *_copied_from(name, frame)}
    for assigned in frame.source.nodes["assignment_expression"]:
        left, right = syntax.child(assigned, "left"), syntax.child(assigned, "right")
        if left is None or left.type != "subscript_expression" or right is None:
            continue
        if syntax.text(syntax.child(left, "argument")) not in origins:
            continue
        value = uncast(right)
        if value is not None and syntax.text(syntax.child(value, "operator")) == "%":
            return values.of(syntax.child(value, "right"), Elsewhere(frame))
    return None


def _copied_from(name: str, frame: Frame) -> Iterator[str]:
    """Arrays of the host that are copied to one of the device."""
    for node in frame.source.nodes["call_expression"]:
        given = arguments(node)
        copies = called(node) in {"cudaMemcpy", "cudaMemcpyAsync"} and len(given) >= 2
        if copies and syntax.text(uncast(given[0])) == name:
            yield syntax.text(uncast(given[1]))
