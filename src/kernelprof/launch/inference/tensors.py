"""Sizes of PyTorch's tensors, by how the host makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference.symbols import call_arguments, called_name

if TYPE_CHECKING:
    from tree_sitter import Node

    from kernelprof.launch.inference.symbols import Frame

_BY_SIZES: Final = frozenset(
    (
        *("empty", "zeros", "ones", "rand", "randn", "full", "randint"),
        *("new_empty", "new_zeros", "new_ones", "new_full", "reshape", "view"),
    )
)
_LIKE: Final = frozenset(
    f"{each}_like" for each in ("empty", "zeros", "ones", "rand", "randn", "full")
)
_SAME: Final = frozenset(
    ("clone", "contiguous", "to", "cuda", "detach", "type", "toType", "data", "alias", "relu")
)
"""Methods that give a tensor of the same sizes."""
_DEEPEST: Final = 6


def tensor_method(node: Node) -> tuple[str, str]:
    """The object of a call to a method, and its name; empty for another call."""
    function = syntax.child(node, "function")
    if function is not None and function.type == "template_function":
        function = syntax.child(function, "name")
    if function is None or function.type != "field_expression":
        return "", ""
    field = syntax.child(function, "field")
    if field is not None and field.type == "template_method":
        field = syntax.child(field, "name")
    return syntax.child_text(function, "argument"), syntax.text(field)


def size_variable(name: str, dimension: int, frame: Frame, depth: int = 0) -> str:
    """The variable that holds a size of a tensor, or of one with the same; empty without one."""
    if depth > _DEEPEST or frame.body is None:
        return ""
    wanted = f"{name}.size({dimension})"
    begin, end = frame.body.start_byte, frame.body.end_byte
    for variable, assigned in frame.source.assignments.items():
        here = [value for node, value in assigned if begin <= node.start_byte < end]
        changes = frame.source.changes.get(variable, ())
        # One that is assigned something else as well is another number.
        is_changed = any(begin <= node.start_byte < end for node in changes)
        texts = {syntax.text(value).replace(" ", "") for value in here}
        if texts == {wanted} and not is_changed:
            return variable
    alike = (_like(value) for value in frame.values(name))
    others = (
        size_variable(each, dimension, frame, depth + 1) for each in alike if each not in {"", name}
    )
    return next(filter(None, others), "")


def tensor_sizes(name: str, frame: Frame, depth: int = 0) -> tuple[list[Node], Frame] | None:
    """The expressions of all sizes of a tensor, and the function that they stand in."""
    if depth > _DEEPEST:
        return None
    for value in map(_made, frame.values(name)):
        if value.type == "call_expression":
            _, method = tensor_method(value)
            passed = call_arguments(value)
            lists = [each for each in passed if each.type == "initializer_list"]
            if (method or called_name(value)) in _BY_SIZES and lists:
                return syntax.parts(lists[0]), frame
        same = _like(value)
        sizes = tensor_sizes(same, frame, depth + 1) if same not in {"", name} else None
        if sizes is not None:
            return sizes
    argument = frame.argument(name) if frame.has_parameter(name) else None
    if argument is None or frame.caller is None or argument.type != "identifier":
        return None
    return tensor_sizes(syntax.text(argument), frame.caller, depth + 1)


def _made(value: Node) -> Node:
    """A value without methods at its end that change no sizes."""
    while value.type == "call_expression" and tensor_method(value)[1] in _SAME:
        inner = syntax.child(syntax.child(value, "function"), "argument")
        if inner is None:
            break
        value = inner
    return value


def _like(value: Node) -> str:
    """The tensor that a value has the sizes of."""
    value = _made(value)
    if value.type == "identifier":
        return syntax.text(value)
    if value.type != "call_expression":
        return ""
    passed = call_arguments(value)
    called = tensor_method(value)[1] or called_name(value)
    if called in _LIKE and passed:
        return syntax.text(passed[0])
    if called in _BY_SIZES and passed and passed[0].type == "call_expression":
        tensor, method = tensor_method(passed[0])
        return tensor if method == "sizes" else ""
    return ""
