"""What a kernel's launch is likely to be, from its signature and its body.

A guess is ``None`` where nothing speaks for one: a wrong guess costs more than a question.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelprof.launch.elements import element_bytes, is_floating
from kernelprof.launch.expressions import FUNCTIONS
from kernelprof.launch.resolved import MAX_THREADS
from kernelprof.launch.signature import chosen_arguments, template_type
from kernelprof.launch.usage import AXES, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.launch.signature import KernelSignature, Parameter

ONE_DIMENSION = 1 << 24
TWO_DIMENSIONS = 4096
CHECK_ONE_DIMENSION = 1 << 16
CHECK_MATRIX = (256, 384, 128)
"""Sizes of the comparison differ, so that a mixed-up pair of them is seen."""

_BLOCKS = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}
_TILE_NAME = re.compile(r"tile|block|^bs$|^bx$|^by$", re.IGNORECASE)
_B_TRANSPOSED = re.compile(r"(^|_)(nt|b_?t|b_?trans\w*)($|_)")
_FACTORS = {"alpha": "1.0", "beta": "0.0", "a": "2.0", "scale": "1.5", "factor": "1.5"}


@dataclass(slots=True)
class Guesses:
    """Everything that was guessed; expressions as text."""

    kernel: str | None
    block: list[str] | None = None
    grid: list[str] | None = None
    reference: str | None = None
    flops: str | None = None
    min_bytes: str | None = None
    shared_bytes: str | None = "0"
    sizes: dict[str, int] = field(default_factory=dict)
    check_sizes: dict[str, int] = field(default_factory=dict)
    defines: dict[str, int] = field(default_factory=dict)
    macros: list[str] = field(default_factory=list)
    """Names that only the compiler's command line can give a value."""
    outputs: set[str] = field(default_factory=set)
    fills: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)


def guess(
    kernel: KernelSignature, usage: Usage, constants: Mapping[str, int], name: str | None = None
) -> Guesses:
    """Guess the launch of one kernel; ``name`` may have arguments for its template."""
    found = Guesses(kernel=None)
    template = _template(kernel, found, name)
    arrays = [p for p in kernel.parameters if p.pointer]
    for parameter in kernel.parameters:
        type_name = parameter.type or template_type(parameter, template)
        if type_name is not None:
            found.types[parameter.name] = type_name
    _outputs(arrays, usage, found)
    _sizes(kernel, found)
    _meaning(kernel, arrays, found)
    known = {**constants, **{k: int(v) for k, v in template.items() if v.isdecimal()}}
    _block(kernel, usage, known, found)
    _grid(usage, found)
    if usage.dynamic_shared:
        found.shared_bytes = None
    return found


def _template(kernel: KernelSignature, found: Guesses, name: str | None) -> dict[str, str]:
    """Arguments for the template's parameters; the kernel's name stays unknown if one is.

    Types are not guessed: they decide about every size in bytes.
    """
    if name is not None and "<" in name:
        found.kernel = kernel.name + name[name.index("<") :]
        return chosen_arguments(kernel, name)
    chosen: dict[str, str] = {}
    for parameter in kernel.template:
        if parameter.default is not None:
            chosen[parameter.name] = parameter.default
        elif parameter.kind in {"int", "unsigned", "size_t"} and _TILE_NAME.search(parameter.name):
            chosen[parameter.name] = "16"
    if len(chosen) == len(kernel.template):
        arguments = f"<{', '.join(chosen.values())}>" if chosen else ""
        found.kernel = kernel.name + arguments
    return chosen


def _outputs(arrays: list[Parameter], usage: Usage, found: Guesses) -> None:
    """Written arrays are outputs, and in-out if they are read, too."""
    for array in arrays:
        only_read = array.name in usage.read and array.name not in usage.written
        if array.const or only_read:
            continue
        found.outputs.add(array.name)
        if array.name in usage.read:
            found.fills[array.name] = "random"


def _sizes(kernel: KernelSignature, found: Guesses) -> None:
    """Whole-number scalars are sizes; floating-point ones of a known name are factors."""
    names = []
    for parameter in kernel.parameters:
        type_name = found.types.get(parameter.name, "")
        if parameter.pointer or parameter.name in FUNCTIONS:
            continue
        if type_name.lstrip("u").startswith("int") and type_name.endswith(("32", "64")):
            names.append(parameter.name)
            found.values[parameter.name] = parameter.name
        elif is_floating(type_name) and parameter.name.lower() in _FACTORS:
            found.values[parameter.name] = _FACTORS[parameter.name.lower()]
    for index, name in enumerate(names):
        single = len(names) == 1 and name.lower() != "k"
        found.sizes[name] = ONE_DIMENSION if single else TWO_DIMENSIONS
        found.check_sizes[name] = CHECK_ONE_DIMENSION if single else CHECK_MATRIX[index % 3]


def _meaning(kernel: KernelSignature, arrays: list[Parameter], found: Guesses) -> None:
    """Recognise well-known operations; shapes, reference and amounts of work follow from them."""
    inputs = [p.name for p in arrays if p.name not in found.outputs]
    outputs = [p.name for p in arrays if p.name in found.outputs]
    name = kernel.name.rpartition("::")[2].lower()
    upper = {size.upper() for size in found.sizes}
    if len(found.sizes) == 1:  # every array has that many elements
        found.shapes = {array.name: list(found.sizes) for array in arrays}
    if len(outputs) != 1:
        return
    if (
        len(inputs) == 2
        and upper in ({"M", "N", "K"}, {"N"})
        and re.search("gemm|mat_?mul|mm", name)
    ):
        _gemm(name, inputs, outputs[0], found)
    elif len(inputs) == 1 and "transpose" in name and len(found.sizes) == 2:
        rows, columns = found.sizes
        found.shapes = {inputs[0]: [rows, columns], outputs[0]: [columns, rows]}
        found.reference = "transpose" if {"M", "N"} == set(found.sizes) else None
        width = _width(found, *inputs, *outputs)
        found.min_bytes = f"{2 * width} * {rows} * {columns}" if width else None
    elif len(found.sizes) == 1:
        _elementwise(name, inputs, outputs[0], found)


def _width(found: Guesses, *arrays: str) -> int:
    """Bytes of an element, if that is known of all the arrays and the same; else 0."""
    types = [found.types.get(array) for array in arrays]
    widths = {element_bytes(each) if each else 0 for each in types}
    return widths.pop() if len(widths) == 1 else 0


def _gemm(name: str, inputs: list[str], output: str, found: Guesses) -> None:
    by_upper = {size.upper(): size for size in found.sizes}
    n = by_upper["N"]
    m, k = by_upper.get("M", n), by_upper.get("K", n)
    transposed = any(_B_TRANSPOSED.search(text) for text in (name, inputs[1].lower()))
    found.reference = "gemm_nt" if transposed else "gemm"
    found.shapes = {inputs[0]: [m, k], inputs[1]: [n, k] if transposed else [k, n], output: [m, n]}
    found.flops = f"2 * {m} * {n} * {k}"
    extents = (f"{m} * {k}", f"{k} * {n}", f"{m} * {n}")
    widths = [_width(found, array) for array in (*inputs, output)]
    if len(set(widths)) == 1:
        found.min_bytes = f"{widths[0]} * ({' + '.join(extents)})" if widths[0] else None
    elif all(widths):
        parts = (f"{width} * {extent}" for width, extent in zip(widths, extents, strict=True))
        found.min_bytes = " + ".join(parts)
    for size, check in zip((m, n, k), CHECK_MATRIX, strict=True):
        found.sizes[size] = TWO_DIMENSIONS
        found.check_sizes[size] = CHECK_MATRIX[0] if m == n else check
    if output in found.fills:
        found.values |= {factor: "0.5" for factor in found.values if factor.lower() == "beta"}


_ELEMENTWISE: Final = {
    "copy": ("copy", 1, 2, None),
    "scale": ("scale", 1, 2, "{}"),
    "add": ("add", 2, 3, "{}"),
    "axpy": ("saxpy", 1, 3, "2 * {}"),
    "sum": ("sum", 1, 1, "{}"),
    "reduce": ("sum", 1, 1, "{}"),
    "dot": ("dot", 2, 2, "2 * {}"),
}
"""By a word of the name: the reference, how many inputs it has, what it moves and computes."""


def _elementwise(name: str, inputs: list[str], output: str, found: Guesses) -> None:
    (size,) = found.sizes
    in_out = output in found.fills
    word = next((word for word in _ELEMENTWISE if word in name), "copy")
    reference, wanted, moved, flops = _ELEMENTWISE[word]
    reduces = word in {"sum", "reduce", "dot"}
    if word not in name or len(inputs) != wanted or (not reduces and in_out != (word == "axpy")):
        return
    width = _width(found, *inputs) if reduces else _width(found, *inputs, output)
    found.reference = reference
    found.min_bytes = f"{moved * width} * {size}" if width else None
    found.flops = None if flops is None else flops.format(size)
    if reduces and in_out:  # adds to what is there
        found.fills[output] = "zeros"
        found.shapes[output] = ["1"]
    elif reduces:  # perhaps one partial result a block: nobody can tell from here
        found.reference = None
        del found.shapes[output]


def _block(kernel: KernelSignature, usage: Usage, known: Mapping[str, int], found: Guesses) -> None:
    axes = [axis for axis in AXES if axis in usage.axes] or ["x"]
    default = _BLOCKS[AXES.index(axes[-1]) + 1]
    bounds = (kernel.launch_bounds or "").split(",")[0].strip()
    block = []
    for axis, threads in zip(AXES, default, strict=False):
        stride = usage.strides.get(axis, "")
        if stride in known or stride.isdecimal():
            block.append(str(known.get(stride, stride)))
        elif stride == f"blockDim.{axis}" or (not stride and usage.uses_block_dim):
            block.append(str(threads))
        elif stride.isidentifier() and _TILE_NAME.search(stride):
            found.defines[stride] = 16
            block.append(stride)
        else:
            return
    if bounds.isdecimal() and len(default) == 1 and usage.uses_block_dim:
        block = [str(min(int(bounds), default[0]))]
    if math.prod(found.defines.get(each) or int(each) for each in block) <= MAX_THREADS:
        found.block = block


def _grid(usage: Usage, found: Guesses) -> None:
    """One thread an element: as many blocks along each axis as its size needs."""
    if found.block is None:
        return
    names = {axis: name for axis, name in usage.bounds.items() if name in found.sizes}
    if found.reference in {"gemm", "gemm_nt"} and len(found.block) == 2 and len(names) < 2:
        rows, columns = next(reversed(found.shapes.values()))
        by_row = next((a for n, a in usage.indices.items() if n.lower().startswith("row")), "y")
        names = {by_row: rows, "y" if by_row == "x" else "x": columns}
    extents = list(zip(AXES, found.block, strict=False))
    if all(axis in names for axis, _ in extents):
        found.grid = [f"ceil_div({names[axis]}, {threads})" for axis, threads in extents]
