"""Well-known operations by kernel name and signature: reference, shapes, and amounts of work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.extents import CHECK_MATRIX, TWO_DIMENSIONS
from kernelprof.launch.specification.expressions import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.evidence import Guesses, Usage
    from kernelprof.launch.signature import KernelSignature


_B_TRANSPOSED: Final = re.compile(r"(^|_)(nt|b_?t|b_?trans\w*)($|_)")
_GEMM: Final = re.compile("gemm|mat_?mul|mm")
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


def gemm_axes(kernel: KernelSignature, used: Usage, guesses: Guesses) -> dict[str, str]:
    """The sizes along which the axes of a GEMM's grid run, which may have no bounds to say so."""
    by_upper = {size.upper(): size for size in guesses.sizes}
    name = kernel.name.rpartition("::")[2].lower()
    if set(by_upper) not in ({"M", "N", "K"}, {"N"}) or not _GEMM.search(name):
        return {}
    rows, columns = by_upper.get("M", by_upper["N"]), by_upper["N"]
    along = (axis for n, axis in used.indices.items() if n.lower().startswith("row"))
    by_row = next(along, "y")
    return {by_row: rows, "y" if by_row == "x" else "x": columns}


def recognise_operation(kernel: str, scalars: Mapping[str, str], guesses: Guesses) -> None:
    """Recognise an operation; ``scalars`` are the sizes that parameters have as values."""
    outputs, inputs = guesses.outputs, guesses.inputs
    name = kernel.rpartition("::")[2].lower()
    upper = {size.upper() for size in scalars}
    if len(outputs) != 1:
        return
    # No reference knows matrices of int3.
    flat = all(each.element.count == 1 for each in guesses.arrays.values())
    if flat and len(inputs) == 2 and upper in ({"M", "N", "K"}, {"N"}) and _GEMM.search(name):
        _gemm(name, inputs, outputs[0], scalars, guesses)
    elif flat and len(inputs) == 1 and "transpose" in name and len(scalars) == 2:
        _transpose(inputs[0], outputs[0], scalars, guesses)
    elif flat and len(inputs) == 1 and "softmax" in name:
        _softmax(inputs[0], outputs[0], guesses)
    elif len(scalars) == 1:
        _elementwise(name, inputs, outputs[0], scalars, guesses)
    if guesses.reference is not None:
        guesses.why["reference"] = "inferred from the kernel's name and arrays"


def _width(guesses: Guesses, *arrays: str) -> int:
    widths = {guesses.arrays[each].element.bytes for each in arrays}
    return widths.pop() if len(widths) == 1 else 0


def _shaped(guesses: Guesses, name: str, *shape: str) -> bool:
    array, whole = guesses.arrays[name], amounts.constant_size(1)
    for each in shape:
        whole = whole * amounts.parse_size(each)
    if array.length is not None and not _same_in_tiles(array.length, whole):
        return False
    if array.length != whole:
        array.length, array.why = whole, "implied by the operation"
    if array.element.count == 1:
        array.shape = list(shape)
    return True


def _same_in_tiles(one: SizeExpr, other: SizeExpr) -> bool:
    names = one.names | other.names
    try:
        return all(
            one.value(dict.fromkeys(names, each)) == other.value(dict.fromkeys(names, each))
            for each in (CHECK_MATRIX[0], TWO_DIMENSIONS)
        )
    except ExpressionError:
        return False


def _gemm(
    name: str, inputs: list[str], output: str, scalars: Mapping[str, str], guesses: Guesses
) -> None:
    by_upper = {size.upper(): value for size, value in scalars.items()}
    n = by_upper["N"]
    m, k = by_upper.get("M", n), by_upper.get("K", n)
    transposed = any(_B_TRANSPOSED.search(text) for text in (name, inputs[1].lower()))
    shapes = {inputs[0]: (m, k), inputs[1]: (n, k) if transposed else (k, n), output: (m, n)}
    fitting = [_shaped(guesses, array, *shape) for array, shape in shapes.items()]
    if not all(fitting):
        return
    guesses.reference = "gemm_nt" if transposed else "gemm"
    guesses.flops = f"2 * {m} * {n} * {k}"
    extents = (f"{m} * {k}", f"{k} * {n}", f"{m} * {n}")
    widths = [_width(guesses, array) for array in (*inputs, output)]
    if len(set(widths)) == 1:
        guesses.min_bytes = f"{widths[0]} * ({' + '.join(extents)})"
    else:
        parts = (f"{width} * {extent}" for width, extent in zip(widths, extents, strict=True))
        guesses.min_bytes = " + ".join(parts)
    for size, check in zip((m, n, k), CHECK_MATRIX, strict=True):
        if not guesses.sizes.get(size):
            guesses.sizes[size] = TWO_DIMENSIONS
        guesses.check_sizes[size] = CHECK_MATRIX[0] if m == n else check
    if guesses.arrays[output].fill is not None:
        guesses.values |= {each: "0.5" for each in guesses.values if each.lower() == "beta"}


def _transpose(source: str, output: str, scalars: Mapping[str, str], guesses: Guesses) -> None:
    names, (rows, columns) = list(scalars), scalars.values()
    is_clear = set(names) == {"M", "N"} or (_is_rows(names[0]) and _is_columns(names[1]))
    if _is_columns(names[0]) and _is_rows(names[1]):
        rows, columns, is_clear = columns, rows, True
    if not (_shaped(guesses, source, rows, columns) and _shaped(guesses, output, columns, rows)):
        return
    guesses.reference = "transpose" if is_clear else None
    width = _width(guesses, source, output)
    guesses.min_bytes = f"{2 * width} * {rows} * {columns}" if width else None


def _is_rows(name: str) -> bool:
    return re.fullmatch(r"(n_?|num_?)?(h|height|rows?)", name, re.IGNORECASE) is not None


def _is_columns(name: str) -> bool:
    return re.fullmatch(r"(n_?|num_?)?(w|width|cols?|columns)", name, re.IGNORECASE) is not None


def _softmax(source: str, output: str, guesses: Guesses) -> None:
    whole = guesses.arrays[source].length
    if whole is None or whole != guesses.arrays[output].length or len(whole.terms) != 1:
        return
    ((factors, times),) = whole.terms
    if times != 1 or len(factors) != 2 or guesses.grid is None:
        return
    rows = [each for each in factors if each in {n for g in guesses.grid for n in g.names}]
    if len(rows) != 1:
        return
    columns = factors[1] if factors[0] == rows[0] else factors[0]
    _shaped(guesses, source, rows[0], columns)
    _shaped(guesses, output, rows[0], columns)
    guesses.reference = "softmax"
    width = _width(guesses, source, output)
    guesses.min_bytes = f"{2 * width} * {rows[0]} * {columns}" if width else None


def _elementwise(
    name: str, inputs: list[str], output: str, scalars: Mapping[str, str], guesses: Guesses
) -> None:
    (size,) = scalars.values()
    in_out = guesses.arrays[output].fill is not None
    word = next((word for word in _ELEMENTWISE if word in name), "copy")
    reference, wanted, moved, flops = _ELEMENTWISE[word]
    reduces = word in {"sum", "reduce", "dot"}
    if word not in name or len(inputs) != wanted or (not reduces and in_out != (word == "axpy")):
        return
    if not all(_has_length(guesses.arrays[each].length, size) for each in inputs):
        return
    width = _width(guesses, *inputs) if reduces else _width(guesses, *inputs, output)
    if reduces and not (in_out and guesses.arrays[output].length == amounts.constant_size(1)):
        return  # perhaps one partial result a block: nobody can tell from here
    if not reduces and not _has_length(guesses.arrays[output].length, size):
        return
    if not reduces and len({guesses.arrays[n].element.count for n in (*inputs, output)}) > 1:
        return  # int3 and uchar4
    guesses.reference = reference
    guesses.min_bytes = f"{moved * width} * {size}" if width else None
    guesses.flops = None if flops is None else flops.format(size)
    if reduces:  # adds to what is there
        guesses.arrays[output].fill = "zeros"
        guesses.arrays[output].why_fill = "sums are added to the existing values"


def _has_length(amount: SizeExpr | None, size: str) -> bool:
    return amount is not None and amount == amounts.parse_size(size)
