"""Facts about a launch in a kernel's body: its axes, strides, shared memory, arrays it accesses.

Only plain and common forms are recognised; all others are not in the result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelprof.launch import syntax
from kernelprof.launch.inference.symbols import innermost, is_constant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tree_sitter import Node

AXES = "xyz"

_MACRO = re.compile(r"[A-Z][A-Z0-9_]*")
_HEADERS = re.compile(
    r"NULL$|NAN$|INFINITY$|EOF$|U?INT\d*_|U?CHAR_|U?SHRT_|U?LONG_|U?LLONG_|SIZE_MAX|FLT_|DBL_|HUGE_"
    r"|M_|CUDART_|CUDA_|CU_|WARP_SZ|RAND_MAX"
)


@dataclass(slots=True)
class Usage:
    """What one kernel's body shows; axes are those of ``blockIdx`` and ``threadIdx``."""

    axes: set[str] = field(default_factory=set)
    axes_of_blocks: set[str] = field(default_factory=set)
    axes_of_threads: set[str] = field(default_factory=set)
    shared_by_thread: dict[str, int] = field(default_factory=dict)
    """Elements of shared memory that ``threadIdx`` alone indexes, by its axis."""
    dynamic_shared_type: tuple[str, str] | None = None
    """The name and type of dynamic shared memory, as declared."""
    strides: dict[str, str] = field(default_factory=dict)
    """The factor of ``blockIdx``, by axis: ``blockDim.x``, ``TILE``, ``16``."""
    indices: dict[str, str] = field(default_factory=dict)
    """Variables that hold a thread's global index, and its axis."""
    thread_names: dict[str, str] = field(default_factory=dict)
    """Variables that hold ``threadIdx``, and its axis."""
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    uses_block_dim: bool = False


def find_usage(kernel: Node, constants: Mapping[str, int] | None = None) -> Usage:
    """Collect the usage in a kernel's definition; ``constants`` are named numbers."""
    usage = Usage()
    body = syntax.child(kernel, "body")
    if body is None:
        return usage
    lengths = _find_shared_lengths(body, constants or {})
    for node in syntax.walk(body):
        match node.type:
            case "field_expression":
                variable, axis = _builtin_name(node)
                if variable in {"blockIdx", "threadIdx"} and axis in AXES:
                    of_blocks = variable == "blockIdx"
                    usage.axes.add(axis)
                    (usage.axes_of_blocks if of_blocks else usage.axes_of_threads).add(axis)
                usage.uses_block_dim |= variable == "blockDim"
            case "init_declarator":
                _note_index(node, usage)
            case "declaration" if _is_dynamic_shared(node):
                name = syntax.text(innermost(syntax.child(node, "declarator")))
                usage.dynamic_shared_type = (name, syntax.child_text(node, "type"))
            case "subscript_expression":
                _note_access(node, usage)
                _note_shared_index(node, lengths, usage)
            case "pointer_expression" if syntax.text(node).startswith("*"):
                _note_access(node, usage)
    return usage


def find_constants(nodes: Iterable[Node]) -> dict[str, int]:
    """Return named numbers of files: ``#define TILE 16``, ``constexpr int TILE = 16``."""
    constants = {}
    for node in nodes:
        if node.type == "preproc_def":
            name = syntax.child_text(node, "name")
        elif node.type == "init_declarator" and is_constant(node.parent):
            name = syntax.child_text(node, "declarator")
        else:
            continue
        digits = syntax.child_text(node, "value").strip("{}() ").rstrip("uUlL")
        if digits.isdecimal():
            constants[name] = int(digits)
    return constants


def undefined_macros(root: Node, kernel: Node, parameters: Collection[str]) -> list[str]:
    """Return names in capitals that the kernel uses and no file declares, in order.

    Names that headers of CUDA and C define are left out by their usual forms.
    """
    declared = {*parameters}
    for node in syntax.walk(root):
        if node.type == "type_parameter_declaration":
            declared |= {syntax.text(word) for word in node.children}
        declared.add(syntax.child_text(node, "name"))
        declared.add(syntax.text(innermost(syntax.child(node, "declarator"))))
    capitals = [
        syntax.text(node)
        for node in syntax.walk(kernel)
        if node.type in {"identifier", "type_identifier"} and _MACRO.fullmatch(syntax.text(node))
    ]
    return [n for n in dict.fromkeys(capitals) if n not in declared and not _HEADERS.match(n)]


def _builtin_name(node: Node | None) -> tuple[str, str]:
    if node is None or node.type != "field_expression":
        return "", ""
    return syntax.child_text(node, "argument"), syntax.child_text(node, "field")


def _note_index(node: Node, usage: Usage) -> None:
    """``int row = blockIdx.y * blockDim.y + threadIdx.y``: row is an index along y."""
    name, value = syntax.child(node, "declarator"), syntax.child(node, "value")
    variable, axis_of_name = _builtin_name(value)
    if variable == "threadIdx":
        usage.thread_names[syntax.text(name)] = axis_of_name
    axis = _global_index_axis(value, usage)
    if name is not None and name.type == "identifier" and axis:
        usage.indices[syntax.text(name)] = axis


def _global_index_axis(value: Node | None, usage: Usage) -> str | None:
    axes = set()
    for node in [] if value is None else syntax.walk(value):
        variable, axis = _builtin_name(node)
        if variable not in {"blockIdx", "threadIdx"}:
            continue
        axes.add(axis)
        product = node.parent
        if variable == "blockIdx" and syntax.child_text(product, "operator") == "*":
            left, right = syntax.child(product, "left"), syntax.child(product, "right")
            other = right if syntax.same(left, node) else left
            usage.strides.setdefault(axis, syntax.text(other))
    axis = next(iter(axes), "")
    return axis if len(axes) == 1 and axis in usage.strides else None


def _find_shared_lengths(body: Node, constants: Mapping[str, int]) -> dict[str, list[int]]:
    lengths = {}
    for node in syntax.walk(body):
        words = {syntax.text(word) for word in node.children}
        if node.type != "declaration" or "__shared__" not in words:
            continue
        for declarator in node.children_by_field_name("declarator"):
            extents: list[int] = []
            inner: Node | None = declarator
            while inner is not None and inner.type == "array_declarator":
                written = syntax.child_text(inner, "size")
                number = int(written) if written.isdecimal() else 0
                extents.insert(0, constants.get(written, number))
                inner = syntax.child(inner, "declarator")
            if extents:
                lengths[syntax.text(inner)] = extents
    return lengths


def _note_shared_index(node: Node, lengths: Mapping[str, list[int]], usage: Usage) -> None:
    """``tile[threadIdx.y][threadIdx.x]``, also by way of ``int t = threadIdx.x``."""
    indices: list[Node | None] = []
    base: Node | None = node
    while base is not None and base.type == "subscript_expression":
        listed = syntax.child(base, "indices")
        indices.insert(0, None if listed is None else next(iter(listed.named_children), None))
        base = syntax.child(base, "argument")
    for index, extent in zip(indices, lengths.get(syntax.text(base), []), strict=False):
        variable, axis = _builtin_name(index)
        if index is not None and index.type == "identifier":
            variable, axis = "threadIdx", usage.thread_names.get(syntax.text(index), "")
        if variable == "threadIdx" and axis in AXES and extent:
            usage.shared_by_thread[axis] = min(usage.shared_by_thread.get(axis, extent), extent)


def _is_dynamic_shared(node: Node) -> bool:
    words = {syntax.text(word) for word in node.children}
    declarator = syntax.child(node, "declarator")
    return (
        {"extern", "__shared__"} <= words
        and declarator is not None
        and declarator.type == "array_declarator"
        and syntax.child(declarator, "size") is None
    )


def _note_access(node: Node, usage: Usage) -> None:
    base = syntax.child(node, "argument")
    while base is not None and base.type in {"parenthesized_expression", "binary_expression"}:
        base = next(iter(base.named_children), None)
    if base is None or base.type != "identifier":
        return
    name = syntax.text(base)
    parent = node.parent
    kind = "" if parent is None else parent.type
    if kind == "assignment_expression":
        if syntax.same(syntax.child(parent, "left"), node):
            usage.written.add(name)
            if syntax.child_text(parent, "operator") == "=":
                return
    elif kind in {"update_expression", "pointer_expression"}:
        usage.written.add(name)
        if kind == "pointer_expression" and not _is_argument_of_atomic(parent):
            return
    usage.read.add(name)


def _is_argument_of_atomic(address: Node | None) -> bool:
    arguments = None if address is None else address.parent
    call = None if arguments is None else arguments.parent
    return syntax.child_text(call, "function").rpartition("::")[2].startswith("atomic")
