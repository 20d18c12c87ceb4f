"""Grid, block and dynamic shared memory: from a launch in the file, else from the kernel's body."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.amounts import ONE
from kernelprof.launch.inference.evidence import Usage
from kernelprof.launch.inference.operations import gemm_axes
from kernelprof.launch.inference.reach import largest_extent
from kernelprof.launch.inference.symbols import call_arguments, declared_name
from kernelprof.launch.inference.templates import TILE_NAME
from kernelprof.launch.specification.spec import MAX_THREADS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tree_sitter import Node

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.evidence import Guesses, LaunchEvidence
    from kernelprof.launch.inference.host import HostLaunch
    from kernelprof.launch.inference.reach import Reach
    from kernelprof.launch.signature import KernelSignature


AXES: Final = "xyz"


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
                name = syntax.text(declared_name(syntax.child(node, "declarator")))
                usage.dynamic_shared_type = (name, syntax.child_text(node, "type"))
            case "subscript_expression":
                _note_shared_index(node, lengths, usage)
                usage.in_addresses |= _names_in(syntax.child(node, "indices"))
            case "assignment_expression" if syntax.child_text(node, "operator") == "+=":
                usage.in_addresses |= _names_in(syntax.child(node, "right"))
            case "call_expression":  # load_matrix_sync(fragment, A + row * K, K)
                sums = (e for e in call_arguments(node) if e.type == "binary_expression")
                usage.in_addresses |= {name for each in sums for name in _names_in(each)}
    return usage


def _names_in(node: Node | None) -> set[str]:
    nodes = [] if node is None else syntax.walk(node)
    return {syntax.text(each) for each in nodes if each.type == "identifier"}


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
    if name is not None and name.type == "identifier":
        usage.variables.add(syntax.text(name))
        if axis:
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


def infer_configuration(evidence: LaunchEvidence, guesses: Guesses) -> None:
    """Infer block and grid."""
    kernel, used, reach, host = evidence.kernel, evidence.used, evidence.reach, evidence.host
    whole = None if host is None else _infer_from_host(host, evidence, guesses)
    if guesses.block is None:
        infer_block(kernel, used, evidence.constants, guesses)
    if guesses.grid is None:
        parameters = [each.name for each in kernel.parameters]
        spare = [name for name in parameters if name in guesses.sizes and name not in reach.used]
        is_bounded = infer_grid(reach, used, guesses, spare, gemm_axes(kernel, used, guesses))
        if not is_bounded and whole is not None and host is not None:
            guesses.grid = whole
            guesses.why["grid"] = _launch_reason(host)


def _infer_from_host(
    host: HostLaunch, evidence: LaunchEvidence, guesses: Guesses
) -> list[SizeExpr] | None:
    fixed = evidence.known_sizes
    own = set(guesses.values.values())
    standing = {
        n: amounts.constant_size(fixed[n]) for n in _names(host.block) if n in fixed.keys() - own
    }
    guesses.block = amounts.read_all(host.block, standing)
    if guesses.block is not None and _names(guesses.block) <= fixed.keys():
        guesses.why["block"] = _launch_reason(host)
    else:
        unknown = [each.text for each in guesses.block or () if each.text not in fixed]
        guesses.block = None
        infer_block(evidence.kernel, evidence.used, evidence.constants, guesses)
        threads: list[SizeExpr] = guesses.block or []
        pairs = zip(unknown, threads, strict=False)
        standing |= {name: n for name, n in pairs if name.isidentifier() and name not in own}
    if guesses.block is None:
        return None
    whole = amounts.read_all(host.grid, standing)
    if whole is not None and _names(whole) <= fixed.keys() | set(guesses.sizes) | evidence.passed:
        guesses.grid = whole
        guesses.why["grid"] = _launch_reason(host)
    return whole


def _launch_reason(host: HostLaunch) -> str:
    return f"as launched on {host.line}"


def _names(dimensions: Sequence[SizeExpr] | None) -> set[str]:
    return {name for each in dimensions or () for name in each.names}


def infer_shared_bytes(
    evidence: LaunchEvidence, standing: Mapping[str, SizeExpr], guesses: Guesses
) -> None:
    """Infer dynamic shared memory: the host's, else as far as the kernel accesses it."""
    host = evidence.host
    if host is not None and host.shared_bytes is not None:
        whole = _shared_bytes_of_launch(host.shared_bytes, evidence, standing)
        if whole is not None:
            guesses.shared_bytes = whole
            guesses.why["shared_bytes"] = _launch_reason(host)
            return
    if evidence.used.dynamic_shared_type is None and host is None:
        guesses.shared_bytes = amounts.constant_size(0)
        return
    for name, element in evidence.shared.items():
        reached = evidence.reach.arrays[name]
        whole = largest_extent([each.substitute(standing) for each in reached.extents])
        if whole is not None and not reached.unknown and not whole.has_atoms:
            guesses.shared_bytes = whole * amounts.constant_size(element.bytes)
            guesses.why["shared_bytes"] = f"the extent that the kernel accesses in {name}"


def _shared_bytes_of_launch(
    given: SizeExpr, evidence: LaunchEvidence, standing: Mapping[str, SizeExpr]
) -> SizeExpr | None:
    fixed, own = evidence.known_sizes, evidence.passed
    numbers = {name: amounts.constant_size(size) for name, size in fixed.items() if name not in own}
    whole = given.substitute({**numbers, **standing})
    return whole if whole is not None and whole.names <= own | fixed.keys() else None


_BLOCKS: Final = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}
_TILE: Final = 16
_THREADS: Final = re.compile("threads|block_?(size|dim)", re.IGNORECASE)


def infer_block(
    kernel: KernelSignature, usage: Usage, constants: Mapping[str, int], guesses: Guesses
) -> None:
    """Infer the block from strides of ``blockIdx`` and from launch bounds."""
    if not usage.axes:
        guesses.block = [ONE]
        guesses.why["block"] = "the kernel uses no thread index"
        return
    template_threads = [
        constants[p.name]
        for p in kernel.template
        if _THREADS.search(p.name) and p.name in constants
    ]
    if template_threads and not usage.strides and usage.axes_of_threads <= {"x"}:
        guesses.block = [amounts.constant_size(template_threads[0])]
        guesses.why["block"] = "the template parameter for the number of threads"
        return
    axes = usage.axes_of_threads or usage.axes
    default = iter(_BLOCKS[len(axes)])
    bounds = (kernel.launch_bounds or "").split(",")[0].strip()
    most = constants.get(bounds) or (int(bounds) if bounds.isdecimal() else None)
    threads: list[SizeExpr] = []
    why: list[str] = []
    for axis in AXES[: 1 + max(map(AXES.index, axes))]:
        # Threads that no index tells apart would all do the same.
        along = _threads_along(axis, next(default), usage, constants) if axis in axes else (ONE, "")
        if along is None:
            threads = []
            break
        threads.append(along[0])
        why.append(along[1])
    if most is not None and (not threads or (len(threads) == 1 and usage.uses_block_dim)):
        fewer = min(most, 256) if usage.uses_block_dim and threads else most
        threads, why = [amounts.constant_size(fewer)], ["__launch_bounds__"]
    tiles = {name: _TILE for each in threads for name in each.names}
    if threads and math.prod(each.value(tiles) for each in threads) <= MAX_THREADS:
        guesses.block = threads
        guesses.defines |= tiles
        guesses.why["block"] = "; ".join(dict.fromkeys(filter(None, why)))


def _threads_along(
    axis: str, usual: int, usage: Usage, constants: Mapping[str, int]
) -> tuple[SizeExpr, str] | None:
    stride = usage.strides.get(axis, "")
    written = constants.get(stride) or (int(stride) if stride.isdecimal() else None)
    if written is not None and written <= MAX_THREADS:
        return amounts.constant_size(written), f"blockIdx.{axis} is multiplied by {stride}"
    is_open = stride.isidentifier() and stride not in constants.keys() | usage.variables
    if is_open and TILE_NAME.search(stride):
        return amounts.parse_size(stride), ""
    if among := usage.shared_by_thread.get(axis):
        why = f"threadIdx.{axis} indexes shared memory of this size"
        return amounts.constant_size(among), why
    if stride == f"blockDim.{axis}" or usage.uses_block_dim:
        return amounts.constant_size(usual), "the kernel works with any block size"
    return None


def infer_grid(
    reach: Reach, usage: Usage, guesses: Guesses, spare: list[str], along: Mapping[str, str]
) -> bool:
    """Infer the grid from index bounds; return whether each axis has evidence.

    ``spare`` are sizes that the kernel is passed and never reads, one of which may be the
    number of blocks; ``along`` are sizes along an axis of a known operation.
    """
    if guesses.block is None:
        return False
    is_bounded = True
    standing = name_dimensions("block", guesses.block)
    grid, why = [], []
    axes = [axis for axis in AXES if axis in usage.axes_of_blocks]
    for axis in AXES[: AXES.index(axes[-1]) + 1] if axes else "x":
        ends = [
            (each.end.substitute(standing), each.step.substitute(standing))
            for each in reach.bounds
            if each.axis == axis
        ]
        bounds = [(_round_bound(end), step) for end, step in ends if end and step and step.terms]
        bounds = [(end, step) for end, step in bounds if not end.has_atoms]
        if bounds:
            end, step = bounds[0]
            blocks = amounts.ceil_div(end, step)
            grid.append(blocks)
            why.append(f"blockIdx.{axis} covers {end.text}")
        elif axis in along and len(guesses.block) == len(along):
            threads = guesses.block["xyz".index(axis)]
            grid.append(amounts.ceil_div(amounts.parse_size(along[axis]), threads))
            why.append(f"blockIdx.{axis} covers dimension {along[axis]} of a matrix product")
        elif axis not in usage.axes_of_blocks:
            grid.append(ONE)
            if axis == "x" and not axes:
                why.append("the kernel does not use blockIdx")
        elif spare:
            name = spare.pop(0)
            stride = usage.strides.get(axis, "")
            threads = standing[f"block__{axis}"] if stride == f"blockDim.{axis}" else ONE
            threads = amounts.constant_size(int(stride)) if stride.isdecimal() else threads
            grid.append(amounts.ceil_div(amounts.parse_size(name), threads))
            whose = f"{name} blocks"
            if threads != ONE:
                many = f"{name} / {threads.text} blocks, rounded up"
                whose = f"{name} threads" if axis in usage.axes_of_threads else many
            why.append(
                f"assumed: {whose}; the kernel never reads its argument {name}, which may be the "
                "number to launch"
            )
        else:
            name = {"x": "blocks", "y": "blocks_y", "z": "blocks_z"}[axis]
            grid.append(amounts.parse_size(name))
            guesses.sizes.setdefault(name, 0)
            why.append(f"nothing bounds blockIdx.{axis}: any number of blocks works")
            is_bounded = False
    guesses.grid = grid
    guesses.why["grid"] = "; ".join(why)
    return is_bounded


def name_dimensions(prefix: str, extents: list[SizeExpr] | None) -> dict[str, SizeExpr]:
    """Return the extents by name: ``block__x``, ``block__y``, ``block__z``."""
    if extents is None:
        return {}
    whole = [*extents, ONE, ONE][:3]
    return {f"{prefix}__{axis}": each for axis, each in zip(AXES, whole, strict=True)}


def _round_bound(end: SizeExpr) -> SizeExpr:
    """Round ``n - 1``, the bound of a stencil, to ``n``."""
    constant = dict(end.terms).get((), 0)
    if constant < 0 and len(end.terms) > 1:
        return end - amounts.constant_size(constant)
    return end
