"""What a kernel's body tells about its launch: which index runs along which size, who is written.

Only plain and common forms are understood; what is not understood is simply not in the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelprof.launch import syntax

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
    """What was found in one kernel."""

    axes: set[str] = field(default_factory=set)
    """Axes of ``blockIdx`` and ``threadIdx`` that it looks at."""
    axes_of_blocks: set[str] = field(default_factory=set)
    axes_of_threads: set[str] = field(default_factory=set)
    shared_by_thread: dict[str, int] = field(default_factory=dict)
    """Elements of shared memory that a thread's index along an axis runs through by itself."""
    dynamic_shared_type: tuple[str, str] | None = None
    """The name and type of dynamic shared memory, as they are declared."""
    strides: dict[str, str] = field(default_factory=dict)
    """What ``blockIdx`` is multiplied with, by axis: ``blockDim.x``, ``TILE``, ``16``."""
    bounds: dict[str, str] = field(default_factory=dict)
    """The size that an axis's index is compared with."""
    indices: dict[str, str] = field(default_factory=dict)
    """Variables that hold a thread's global index, and the axis along which they run."""
    thread_names: dict[str, str] = field(default_factory=dict)
    """Variables that hold a thread's index in its block, and the axis."""
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    dynamic_shared: bool = False
    uses_block_dim: bool = False


def usage(kernel: Node, known: Mapping[str, int] | None = None) -> Usage:
    """Look through a kernel's definition; ``known`` are numbers that have names."""
    found = Usage()
    body = syntax.child(kernel, "body")
    if body is None:
        return found
    lengths = _shared_lengths(body, known or {})
    for node in syntax.walk(body):
        match node.type:
            case "field_expression":
                _builtin(node, found)
            case "init_declarator":
                _index(node, found)
            case "binary_expression":
                _bound(node, found)
            case "declaration":
                _shared(node, found)
            case "subscript_expression":
                _access(node, found)
                _by_thread(node, lengths, found)
            case "pointer_expression" if syntax.text(node).startswith("*"):
                _access(node, found)
    return found


def constants(nodes: Iterable[Node]) -> dict[str, int]:
    """Numbers that files give names to: ``#define TILE 16``, ``constexpr int TILE = 16``."""
    found = {}
    for node in nodes:
        if node.type == "preproc_def":
            name, value = syntax.child(node, "name"), syntax.child(node, "value")
        elif node.type == "init_declarator" and _is_constant(node.parent):
            name, value = syntax.child(node, "declarator"), syntax.child(node, "value")
        else:
            continue
        digits = syntax.text(value).strip("{}() ").rstrip("uUlL")
        if digits.isdecimal():
            found[syntax.text(name)] = int(digits)
    return found


def undefined_macros(root: Node, kernel: Node, parameters: Collection[str]) -> list[str]:
    """Names in capitals that the kernel uses and the file does not declare, in their order.

    They are meant for the compiler's command line, or come from a header; what the headers of CUDA
    and C define is left out by its usual forms.
    """
    declared = {*parameters}
    for node in syntax.walk(root):
        if node.type == "type_parameter_declaration":
            declared |= {syntax.text(part) for part in node.children}
        declared.add(syntax.text(syntax.child(node, "name")))
        declared.add(syntax.text(_innermost(syntax.child(node, "declarator"))))
    used = [
        syntax.text(node)
        for node in syntax.walk(kernel)
        if node.type in {"identifier", "type_identifier"} and _MACRO.fullmatch(syntax.text(node))
    ]
    return [
        name for name in dict.fromkeys(used) if name not in declared and not _HEADERS.match(name)
    ]


def _innermost(declarator: Node | None) -> Node | None:
    """The name in ``*(&name)[4]``."""
    inner = syntax.child(declarator, "declarator")
    return declarator if inner is None else _innermost(inner)


def _is_constant(declaration: Node | None) -> bool:
    return declaration is not None and any(
        part.type == "type_qualifier" and syntax.text(part) in {"const", "constexpr"}
        for part in declaration.children
    )


def _builtin(node: Node, found: Usage) -> None:
    variable, axis = _builtin_name(node)
    if variable in {"blockIdx", "threadIdx"} and axis in AXES:
        found.axes.add(axis)
        (found.axes_of_blocks if variable == "blockIdx" else found.axes_of_threads).add(axis)
    found.uses_block_dim |= variable == "blockDim"


def _builtin_name(node: Node | None) -> tuple[str, str]:
    if node is None or node.type != "field_expression":
        return "", ""
    return syntax.text(syntax.child(node, "argument")), syntax.text(syntax.child(node, "field"))


def _index(node: Node, found: Usage) -> None:
    """``int row = blockIdx.y * blockDim.y + threadIdx.y``: row runs along y."""
    name, value = syntax.child(node, "declarator"), syntax.child(node, "value")
    variable, along = _builtin_name(value)
    if variable == "threadIdx":
        found.thread_names[syntax.text(name)] = along
    axis = _thread_axis(value, found)
    if name is not None and name.type == "identifier" and axis:
        found.indices[syntax.text(name)] = axis


def _thread_axis(value: Node | None, found: Usage) -> str | None:
    """The one axis along which a value is a thread's global index, if it is one."""
    if value is None:
        return None
    axes = set()
    for node in syntax.walk(value):
        variable, axis = _builtin_name(node)
        if variable not in {"blockIdx", "threadIdx"}:
            continue
        axes.add(axis)
        parent = node.parent
        if variable == "blockIdx" and parent is not None and _operator(parent) == "*":
            left, right = syntax.child(parent, "left"), syntax.child(parent, "right")
            other = right if syntax.same(left, node) else left
            found.strides.setdefault(axis, syntax.text(other))
    axis = next(iter(axes), "")
    return axis if len(axes) == 1 and axis in found.strides else None


def _bound(node: Node, found: Usage) -> None:
    """``row < M`` or ``row >= M``: the index along y ends at M."""
    if _operator(node) not in {"<", ">="}:
        return
    left, right = syntax.child(node, "left"), syntax.child(node, "right")
    axis = found.indices.get(syntax.text(left)) or _thread_axis(left, found)
    if axis and right is not None and right.type == "identifier":
        found.bounds.setdefault(axis, syntax.text(right))


def _operator(node: Node) -> str:
    return syntax.text(syntax.child(node, "operator")) if node.type == "binary_expression" else ""


def _shared(node: Node, found: Usage) -> None:
    """``extern __shared__ float tile[];``."""
    if not _is_dynamic_shared(node):
        return
    found.dynamic_shared = True
    name = syntax.text(_innermost(syntax.child(node, "declarator")))
    found.dynamic_shared_type = (name, syntax.text(syntax.child(node, "type")))


def _shared_lengths(body: Node, known: Mapping[str, int]) -> dict[str, list[int]]:
    """The extents of the arrays in shared memory that have plain ones."""
    found = {}
    for node in syntax.walk(body):
        if node.type != "declaration" or not any(
            syntax.text(part) == "__shared__" for part in node.children
        ):
            continue
        for part in node.children_by_field_name("declarator"):
            extents: list[int] = []
            inner: Node | None = part
            while inner is not None and inner.type == "array_declarator":
                written = syntax.text(syntax.child(inner, "size"))
                extents.insert(0, known.get(written, int(written) if written.isdecimal() else 0))
                inner = syntax.child(inner, "declarator")
            if extents:
                found[syntax.text(inner)] = extents
    return found


def _by_thread(node: Node, lengths: Mapping[str, list[int]], found: Usage) -> None:
    """``tile[threadIdx.y][threadIdx.x]``, also by way of ``int t = threadIdx.x``."""
    indices: list[Node | None] = []
    base: Node | None = node
    while base is not None and base.type == "subscript_expression":
        listed = syntax.child(base, "indices")
        indices.insert(0, None if listed is None else next(iter(listed.named_children), None))
        base = syntax.child(base, "argument")
    extents = lengths.get(syntax.text(base), [])
    for index, extent in zip(indices, extents, strict=False):
        variable, axis = _builtin_name(index)
        if index is not None and index.type == "identifier":
            variable, axis = "threadIdx", found.thread_names.get(syntax.text(index), "")
        if variable == "threadIdx" and axis in AXES and extent:
            known = found.shared_by_thread.get(axis, extent)
            found.shared_by_thread[axis] = min(known, extent)


def _is_dynamic_shared(node: Node) -> bool:
    words = {syntax.text(part) for part in node.children}
    declarator = syntax.child(node, "declarator")
    return (
        {"extern", "__shared__"} <= words
        and declarator is not None
        and declarator.type == "array_declarator"
        and syntax.child(declarator, "size") is None
    )


def _access(node: Node, found: Usage) -> None:
    """One ``A[i]`` or ``*A``: whether it is read, written, or both."""
    base = syntax.child(node, "argument")
    while base is not None and base.type in {"parenthesized_expression", "binary_expression"}:
        base = next(iter(base.named_children), None)
    if base is None or base.type != "identifier":
        return
    name = syntax.text(base)
    parent = node.parent
    if parent is not None and parent.type == "assignment_expression":
        if syntax.same(syntax.child(parent, "left"), node):
            found.written.add(name)
            if syntax.text(syntax.child(parent, "operator")) == "=":
                return
    elif parent is not None and parent.type == "update_expression":
        found.written.add(name)
    elif parent is not None and parent.type == "pointer_expression":
        found.written.add(name)  # its address is taken
        if not _goes_to_atomic(parent):
            return
    found.read.add(name)


def _goes_to_atomic(address: Node) -> bool:
    arguments = address.parent
    call = None if arguments is None else arguments.parent
    function = syntax.text(syntax.child(call, "function"))
    return function.rpartition("::")[2].startswith("atomic")
