"""What host code shows of a kernel's launches: grid, block, arguments, and allocated arrays.

Launches are ``kernel<<<grid, block, bytes>>>(arguments)``, and ``cudaLaunchKernel`` with an array
of arguments. Values of expressions are amounts over the sizes of the program.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.amounts import ONE, ZERO, apply_operator, parse_number
from kernelprof.launch.inference.branches import find_chosen, is_skipped
from kernelprof.launch.inference.dispatch import DispatchedType, find_dispatched, is_element
from kernelprof.launch.inference.symbols import (
    Frame,
    call_arguments,
    called_name,
    function_around,
    is_constant,
    is_device_function,
    returned_only,
    strip_casts,
    written_template,
)
from kernelprof.launch.inference.templates import deduce_template
from kernelprof.launch.inference.tensors import size_variable, tensor_method, tensor_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.symbols import SourceSymbols
    from kernelprof.launch.signature import KernelSignature

LAUNCH_FUNCTIONS: Final = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"}
_MOST_CALLERS: Final = 4
_MOST_LAUNCHES: Final = 8
"""Launches that are read, and call chains of each: the first ones are like the others."""

_DEEPEST: Final = 40
_MOST_STEPS: Final = 20_000
"""Expressions that are evaluated for one launch: a program of 2,000 lines takes some hundreds."""
_INPUT: Final = re.compile(r"\b(argv|atoi|atol|atoll|strtol|stoi|stol|getCmdLine\w*|getenv)\b")
"""Reads of the program's input: the value that a variable had before is the default."""
_SMALL: Final = 64
"""Constants up to here are part of the problem, and not its size."""
_PROCESSORS: Final = re.compile(r"\w*(num_?sms?|sm_?count|multi_?proc\w*|num_?mps?)", re.IGNORECASE)
_DEFAULT_PROCESSORS: Final = 132
"""Multiprocessors of the GPU that kernels are predicted for by default (an H200)."""
_PREFERRED_BLOCKS: Final = (256, 16)
"""Of several block sizes that are tried: eight warps, as in most launches, or the side of a square
of as many threads."""
_CASTS: Final = {"static_cast", "int", "size_t", "unsigned", "dim3", "long"}
_ALLOCATES: Final = {
    "cudaMalloc": 1, "cudaMallocManaged": 1, "cudaMallocAsync": 1, "cudaMallocHost": 1,
    "cudaHostAlloc": 1, "hipMalloc": 1,
}  # fmt: skip
"""Functions that allocate, and the index of their argument of bytes."""
_VECTORS: Final = ("device_vector", "host_vector", "vector")
_MOST_POINTERS: Final = 6


@dataclass
class HostValues:
    """Evaluates host expressions; what has no known number becomes a size of its own.

    ``sizes`` are those found on the way with the program's values, ``None`` where the program gets
    it at run time.
    """

    sizes: dict[str, int | None] = field(default_factory=dict)
    chosen: Mapping[str, SizeExpr] = field(default_factory=dict)
    """What variables of the launching function are at the launch, since it is a ``case``."""
    body: Node | None = None
    """Of that function."""
    _depth: int = 0
    _steps: int = 0
    _members: set[str] = field(default_factory=set)

    def evaluate(self, node: Node | None, frame: Frame) -> SizeExpr | None:
        """Evaluate an expression in a function; ``None`` where it is unknown."""
        self._steps += 1
        if node is None or self._depth > _DEEPEST or self._steps > _MOST_STEPS:
            return None
        self._depth += 1
        try:
            value = self._evaluate(node, frame)
        finally:
            self._depth -= 1
        return None if value is None or value.too_long else value

    def _evaluate(self, node: Node, frame: Frame) -> SizeExpr | None:  # noqa: PLR0911
        match node.type:
            case "number_literal":
                return parse_number(syntax.text(node))
            case "parenthesized_expression" | "argument_list" | "initializer_list":
                inner = syntax.parts(node)
                return self.evaluate(inner[0], frame) if len(inner) == 1 else None
            case "preproc_arg":
                return self._evaluate_text(syntax.text(node), {}, frame.elsewhere())
            case "cast_expression":
                return self.evaluate(syntax.child(node, "value"), frame)
            case "identifier":
                return self._evaluate_name(syntax.text(node), node, frame)
            case "sizeof_expression":
                return self._sizeof(node, frame)
            case "conditional_expression":
                return self._conditional(node, frame)
            case "binary_expression":
                operator = syntax.child_text(node, "operator")
                is_compared = operator in {"!=", ">"}
                return (
                    self._remainder(node, frame)
                    if is_compared
                    else self._binary(operator, node, frame)
                )
            case "call_expression":
                return self._call(node, frame)
            case "field_expression":
                return self._member(node, frame)
            case "subscript_expression":
                return self._element(node, frame)
            case "qualified_identifier":
                return self._evaluate_name(syntax.child_text(node, "name"), node, frame)
        return None

    def _binary(self, operator: str, node: Node | None, frame: Frame) -> SizeExpr | None:
        left, right = (self.evaluate(syntax.child(node, key), frame) for key in ("left", "right"))
        return apply_operator(operator, left, right)

    def _remainder(self, node: Node | None, frame: Frame) -> SizeExpr | None:
        """Whether a division leaves something, as 1 or 0: ``n % 32 != 0``."""
        inner = strip_casts(node)
        if syntax.child_text(inner, "operator") in {"!=", ">"}:
            is_of_zero = syntax.child_text(inner, "right") == "0"
            inner = strip_casts(syntax.child(inner, "left")) if is_of_zero else None
        if syntax.child_text(inner, "operator") != "%":
            return None
        up, down = (self._binary(each, inner, frame) for each in ("ceil_div", "/"))
        return apply_operator("-", up, down)

    def _evaluate_name(self, name: str, at: Node, frame: Frame) -> SizeExpr | None:  # noqa: PLR0911
        if name in frame.template:
            return parse_number(frame.template[name])
        if name in self.chosen and syntax.same(self.body, frame.body):
            return self.chosen[name]
        value = None
        assigned = frame.values(name, frame.offset(at))
        if self._is_output_argument(name, at, frame):
            return self._size(name, None)
        for each in assigned:
            if any(n.type == "identifier" and syntax.text(n) == name for n in syntax.walk(each)):
                continue  # made of itself
            if frame.is_changed(name, each, frame.offset(at)):
                return self._size(name, None)
            value = self.evaluate(each, frame)
            if value is not None or not _INPUT.search(syntax.text(each)):
                break
        if value is None and frame.has_parameter(name):
            argument = frame.argument(name)
            if argument is not None and frame.caller is not None:
                return self.evaluate(argument, frame.caller)
            return self._size(name, None)
        if value is None and not assigned:
            return self._evaluate_global(name, frame)
        if value is None:
            return self._size(name, None)
        if value.constant is not None and value.constant > 0:
            return self._size(name, value.constant)
        return value

    def _is_output_argument(self, name: str, at: Node, frame: Frame) -> bool:
        body = frame.body
        if body is None:
            return False
        return any(
            body.start_byte <= call.start_byte < min(at.start_byte, body.end_byte)
            and any(syntax.text(each) == f"&{name}" for each in call_arguments(call))
            for call in frame.source.nodes["call_expression"]
        )

    def _evaluate_global(self, name: str, frame: Frame) -> SizeExpr | None:
        nodes = frame.source.globals.get(name, ())
        for node in nodes:
            is_fixed = node.type == "preproc_arg" or _is_fixed(node)
            value = self.evaluate(node, Frame(frame.source, None))
            if value is not None:
                number = value.constant
                if number == 0 and not is_fixed:
                    break  # another value is assigned somewhere
                is_plain = number is None or number <= _SMALL
                is_plain = is_plain or (is_fixed and name in frame.source.device_names)
                return value if is_plain else self._size(name, number)
        if frame.declared(name) is None and not nodes:
            return None
        return self._size(name, None)

    def _size(self, name: str, value: int | None) -> SizeExpr:
        # A second size of the same name with another value is its value.
        if value is None and _PROCESSORS.fullmatch(name):
            value = _DEFAULT_PROCESSORS
        earlier = self.sizes.get(name)
        if value is not None and earlier is not None and earlier != value:
            return amounts.constant_size(value)
        if name not in self.sizes or value is not None:
            self.sizes[name] = value
        return amounts.parse_size(name)

    def _evaluate_text(self, text: str, replaced: dict[str, str], frame: Frame) -> SizeExpr | None:
        written = {name: f"({value})" for name, value in replaced.items()}
        node = syntax.parse_expression(syntax.replace_names(text, written))
        return self.evaluate(node, frame)

    def _sizeof(self, node: Node, frame: Frame) -> SizeExpr | None:
        kind = syntax.child(node, "type") or strip_casts(syntax.child(node, "value"))
        written = syntax.text(kind)
        declared = frame.declared(written) if kind is not None else None
        if "*" in (declared or written):
            return amounts.constant_size(8)
        element = frame.source.types.with_template(frame.template).element(declared or written)
        if element is None:
            return None
        length: SizeExpr | None = ONE
        if declared is not None and (extent := _array_length(written, frame)) is not None:
            length = self.evaluate(extent, frame)
            if extent.type == "initializer_list":
                length = amounts.constant_size(len(syntax.parts(extent)))
        return None if length is None else amounts.constant_size(element.bytes) * length

    def _conditional(self, node: Node, frame: Frame) -> SizeExpr | None:
        """``argc > 1 ? atoi(argv[1]) : 1024`` is 1024; else the larger of both.

        ``n % 32 ? n / 32 + 1 : n / 32`` is ``ceil_div(n, 32)``.
        """
        keys = ("consequence", "alternative")
        one, other = (self.evaluate(syntax.child(node, key), frame) for key in keys)
        remainder = self._remainder(syntax.child(node, "condition"), frame)
        if remainder is not None and apply_operator("-", one, other) == ONE:
            return apply_operator("+", other, remainder)
        if "argc" in syntax.child_text(node, "condition"):
            return one if other is None else other
        return apply_operator("max", one, other)

    def _call(self, node: Node, frame: Frame) -> SizeExpr | None:  # noqa: PLR0911
        name, passed = called_name(node), call_arguments(node)
        if name in _CASTS and len(passed) == 1:
            return self.evaluate(passed[0], frame)
        if name in {"min", "max"} and len(passed) == 2:
            return apply_operator(name, *(self.evaluate(each, frame) for each in passed))
        if name in {"ceil", "ceilf"} and len(passed) == 1:  # ceil((float)n / b)
            inner = strip_casts(passed[0])
            is_quotient = syntax.child_text(inner, "operator") == "/"
            return self._binary("ceil_div", inner, frame) if is_quotient else None
        tensor, method = tensor_method(node)
        if tensor:
            return self._call_of_tensor(tensor, method, passed, frame)
        if name in frame.source.macros:
            names, text = frame.source.macros[name]
            replaced = dict(zip(names, map(syntax.text, passed), strict=False))
            return self._evaluate_text(text, replaced, frame.elsewhere(frame.offset(node)))
        function = frame.source.functions.get(name)
        returned = None if function is None else returned_only(function.body)
        if function is None or returned is None:
            return None
        template = dict(zip(function.template, written_template(node), strict=False))
        return self.evaluate(returned, Frame(frame.source, function, node, frame, template))

    def _call_of_tensor(
        self, name: str, method: str, passed: list[Node], frame: Frame
    ) -> SizeExpr | None:
        number = syntax.text(passed[0]) if len(passed) == 1 else ""
        if method == "numel":
            return self._tensor_length(name, frame)
        if method != "size" or not number.isdecimal():
            return None
        dimension, sizes = int(number), tensor_sizes(name, frame)
        if sizes is not None:
            nodes, there = sizes
            return self.evaluate(nodes[dimension], there) if dimension < len(nodes) else None
        variable = size_variable(name, dimension, frame)
        return self._size(variable, None) if variable else None

    def _tensor_length(self, name: str, frame: Frame) -> SizeExpr | None:
        nodes, there = tensor_sizes(name, frame) or ((), frame)
        lengths = _all_known([self.evaluate(each, there) for each in nodes])
        return math.prod(lengths, start=ONE) if lengths else None

    def _member(self, node: Node, frame: Frame) -> SizeExpr | None:
        # What any member of that name is assigned, if all known values agree.
        name, structure = syntax.child_text(node, "field"), syntax.child_text(node, "argument")
        if name in "xyz" and "dim3" in (frame.declared(structure) or ""):
            extents = self._dim3_variable(structure, node, frame)
            return None if extents is None else (*extents, ONE, ONE)["xyz".index(name)]
        if name in self._members:
            return None
        self._members.add(name)
        values = set()
        for each in frame.source.nodes["assignment_expression"]:
            left = syntax.child(each, "left")
            is_member = left is not None and left.type == "field_expression"
            if is_member and syntax.child_text(left, "field") == name:
                values.add(self.evaluate(syntax.child(each, "right"), frame.elsewhere()))
        self._members.discard(name)
        values.discard(None)
        if len(values) == 1 and (value := values.pop()) is not None and value.constant:
            return value
        return None

    def _element(self, node: Node, frame: Frame) -> SizeExpr | None:
        # One of several numbers that are tried one after the other.
        name = syntax.child_text(node, "argument")
        lists = [*frame.values(name, frame.offset(node)), *frame.source.globals.get(name, ())]
        for each in lists:
            if each.type != "initializer_list":
                continue
            numbers = [parse_number(syntax.text(n)) for n in each.named_children]
            values = [n.constant for n in numbers if n is not None and n.constant]
            if len(values) == len(numbers) and values:
                preferred = (n for n in _PREFERRED_BLOCKS if n in values)
                return amounts.constant_size(next(preferred, values[0]))
        return None

    # Grids and blocks

    def dimensions(self, node: Node, frame: Frame) -> tuple[SizeExpr, ...] | None:
        """Evaluate a grid or a block: a number, a ``dim3``, or a variable."""
        inner = strip_casts(node)
        if inner is None:
            return None
        if inner.type == "call_expression" and called_name(inner) == "dim3":
            return self._evaluate_all(call_arguments(inner), frame)
        if inner.type in {"initializer_list", "argument_list"}:
            return self._evaluate_all(syntax.parts(inner), frame)
        if inner.type == "compound_literal_expression":
            listed = syntax.child(inner, "value")
            return None if listed is None else self.dimensions(listed, frame)
        if inner.type == "identifier" and "dim3" in (frame.declared(syntax.text(inner)) or ""):
            return self._dim3_variable(syntax.text(inner), inner, frame)
        return self._evaluate_all([inner], frame)

    def _dim3_variable(self, name: str, at: Node, frame: Frame) -> tuple[SizeExpr, ...] | None:
        if frame.has_parameter(name):
            argument = frame.argument(name)
            if argument is None or frame.caller is None:
                return None
            return self.dimensions(argument, frame.caller)
        initial: tuple[SizeExpr, ...] | None = (ONE,)
        values = frame.values(name, frame.offset(at))
        if values:
            initial = self.dimensions(values[0], frame)
        elif (call := _constructor_call(name, frame)) is not None:
            initial = self._evaluate_all(call_arguments(call), frame.elsewhere())
        extents: list[SizeExpr | None] = [*(initial or (None,)), ONE, ONE][:3]
        for index, axis in enumerate("xyz"):
            members = frame.values(f"{name}.{axis}", frame.offset(at))
            member = next((m for m in members if not _INPUT.search(syntax.text(m))), None)
            if member is not None:
                extents[index] = self.evaluate(member, frame)
        while len(extents) > 1 and extents[-1] == ONE:
            extents.pop()
        return _all_known(extents)

    def _evaluate_all(self, nodes: list[Node], frame: Frame) -> tuple[SizeExpr, ...] | None:
        return _all_known([self.evaluate(each, frame) for each in nodes])

    # Arrays

    def allocated_length(  # noqa: PLR0911
        self, node: Node | None, frame: Frame, element_bytes: int, depth: int = 0
    ) -> SizeExpr | None:
        """Return how many elements are allocated at a pointer argument."""
        inner = strip_casts(node)
        if inner is None or depth > _MOST_POINTERS:
            return None
        if inner.type == "binary_expression":  # p + offset
            if syntax.child_text(inner, "operator") != "+":
                return None
            left = syntax.child(inner, "left")
            whole = self.allocated_length(left, frame, element_bytes, depth + 1)
            return apply_operator("-", whole, self.evaluate(syntax.child(inner, "right"), frame))
        if inner.type == "call_expression":
            tensor, _ = tensor_method(inner)
            return self._vector_length(inner, frame) or self._tensor_length(tensor, frame)
        name = syntax.text(inner)
        for size in _allocated_bytes(name, frame):
            length = self.evaluate(size, frame.elsewhere())
            if length is not None:
                return amounts.divide(length, amounts.constant_size(element_bytes))
        if inner.type != "identifier":
            return None
        if frame.has_parameter(name) and frame.caller is not None:
            argument = frame.argument(name)
            return self.allocated_length(argument, frame.caller, element_bytes, depth + 1)
        lengths = (
            self.allocated_length(value, frame, element_bytes, depth + 1)
            for value in frame.values(name)
        )
        return next((each for each in lengths if each is not None), None)

    def _vector_length(self, node: Node, frame: Frame) -> SizeExpr | None:
        """``v.data()`` of a vector that is constructed with a length."""
        function = syntax.child(node, "function")
        while function is not None and function.type in {"field_expression", "call_expression"}:
            key = "argument" if function.type == "field_expression" else "function"
            function = syntax.child(function, key)
        name = syntax.text(function)
        if not any(each in (frame.declared(name) or "") for each in _VECTORS):
            return None
        for value in frame.values(name):
            passed = syntax.parts(value)
            if value.type == "argument_list" and passed:
                return self.evaluate(passed[0], frame.elsewhere())
        return None

    def random_bound(self, node: Node | None, frame: Frame, depth: int = 0) -> SizeExpr | None:
        """Return the bound of random numbers in an array: ``rand() % 16`` gives 16."""
        inner = strip_casts(node)
        if inner is None or depth > _MOST_POINTERS:
            return None
        name = syntax.text(inner)
        if inner.type == "identifier" and frame.has_parameter(name) and frame.caller is not None:
            return self.random_bound(frame.argument(name), frame.caller, depth + 1)
        origins = {name, *_copied_arrays(name, frame)}
        for assigned in frame.source.nodes["assignment_expression"]:
            left, value = (
                syntax.child(assigned, "left"),
                strip_casts(syntax.child(assigned, "right")),
            )
            is_element = left is not None and left.type == "subscript_expression"
            if not is_element or syntax.child_text(left, "argument") not in origins:
                continue
            if syntax.child_text(value, "operator") == "%":
                return self.evaluate(syntax.child(value, "right"), frame.elsewhere())
        return None


def _all_known(values: list[SizeExpr | None]) -> tuple[SizeExpr, ...] | None:
    evaluated = tuple(each for each in values if each is not None)
    return evaluated if evaluated and len(evaluated) == len(values) else None


def _constructor_call(name: str, frame: Frame) -> Node | None:
    """``dim3 block(size);``, which reads as the declaration of a function."""
    for each in frame.source.declarations.get(name, ()):
        if each.declarator.type == "function_declarator" and frame.is_around(each):
            return syntax.parse_expression(f"f{syntax.child_text(each.declarator, 'parameters')}")
    return None


def _is_fixed(value: Node) -> bool:
    # Whether a value at file scope is of a constant or an enumerator.
    parent = value.parent
    return parent is not None and (parent.type == "enumerator" or is_constant(parent.parent))


def _array_length(name: str, frame: Frame) -> Node | None:
    for each in frame.source.declarations.get(name, ()):
        array = each.declarator
        if array.type == "array_declarator" and syntax.child_text(array, "declarator") == name:
            return syntax.child(array, "size") or each.value
    return None


def _allocated_bytes(name: str, frame: Frame) -> Iterator[Node]:
    # Allocations in the function itself come first.
    allocations = []
    body = frame.body
    for node in frame.source.nodes["call_expression"]:
        index = _ALLOCATES.get(called_name(node))
        passed = call_arguments(node)
        if index is None or len(passed) <= index or syntax.text(strip_casts(passed[0])) != name:
            continue
        is_own = body is not None and body.start_byte <= node.start_byte < body.end_byte
        allocations.append((not is_own, node.start_byte, passed[index]))
    for is_foreign, _, size in sorted(allocations, key=lambda each: each[:2]):
        # A global, or a member, may be allocated in another function than the launch is in.
        is_global = any(each.function is None for each in frame.source.declarations.get(name, ()))
        is_local = frame.function is not None and name.isidentifier() and not is_global
        if not (is_foreign and is_local):
            yield size


def _copied_arrays(name: str, frame: Frame) -> Iterator[str]:
    for node in frame.source.nodes["call_expression"]:
        passed = call_arguments(node)
        is_copy = called_name(node) in {"cudaMemcpy", "cudaMemcpyAsync"} and len(passed) >= 2
        if is_copy and syntax.text(strip_casts(passed[0])) == name:
            yield syntax.text(strip_casts(passed[1]))


@dataclass(frozen=True)
class HostLaunch:
    """One launch, from one chain of callers."""

    line: str
    frame: Frame
    grid: tuple[SizeExpr, ...] | None
    block: tuple[SizeExpr, ...] | None
    shared_bytes: SizeExpr | None
    """Dynamic shared memory; ``None`` where it is not known."""
    arguments: Mapping[str, Node]
    values: HostValues
    template: tuple[str, ...] = field(default=())
    """Template arguments up to the first unknown one, with the callers' types resolved."""
    dispatched: DispatchedType | None = None
    """What a macro instantiates the launch for."""

    @property
    def known_parts(self) -> int:
        """How many of its parts are known."""
        parts = (self.grid, self.block, self.shared_bytes)
        return sum(each is not None for each in parts) + (self.frame.call is not None)

    def allocated_length(self, parameter: str, element_bytes: int) -> SizeExpr | None:
        """Return how many elements the host allocates for an array parameter."""
        argument = self.arguments.get(parameter)
        return self.values.allocated_length(argument, self.frame, element_bytes)

    def random_bound(self, parameter: str) -> SizeExpr | None:
        """Return the bound of random numbers that the host writes to an array parameter."""
        return self.values.random_bound(self.arguments.get(parameter), self.frame)


def find_launches(kernel: KernelSignature, source: SourceSymbols) -> list[HostLaunch]:
    """Find all launches of a kernel, the one with most known parts first.

    Those in branches that the known values do not take come last.
    """
    launches = [
        (
            is_skipped(node, partial(_number, frame=frame)),
            _read_launch(kernel, node, configuration, passed, frame),
        )
        for node, configuration, passed in islice(_launch_calls(kernel, source), _MOST_LAUNCHES)
        for frame in islice(_call_chains(source, function_around(node)), _MOST_LAUNCHES)
    ]
    launches.sort(key=lambda each: (each[0], -each[1].known_parts))
    return [launch for _, launch in launches]


def _number(node: Node, frame: Frame) -> int | None:
    values = HostValues()
    amount = values.evaluate(node, frame)
    sizes = {name: value for name, value in values.sizes.items() if value is not None}
    return amount.value(sizes) if amount is not None and amount.names <= sizes.keys() else None


def _launch_calls(
    kernel: KernelSignature, source: SourceSymbols
) -> Iterator[tuple[Node, list[Node], list[Node]]]:
    # Each launch: the call, what is in its brackets, its arguments.
    plain = kernel.name.rpartition("::")[2]
    for node in source.nodes["call_expression"]:
        name, passed = called_name(node), call_arguments(node)
        brackets = next((n for n in node.children if n.type == "kernel_call_syntax"), None)
        if brackets is not None and (name == plain or _is_kernel_pointer(node, plain, source)):
            yield node, syntax.parts(brackets), passed
        elif name in LAUNCH_FUNCTIONS:
            target = strip_casts(passed[0]) if len(passed) >= 4 else None
            if syntax.text(target).partition("<")[0].rpartition("::")[2] != plain:
                continue
            pointed = _argument_array(passed[3], node, source)
            if pointed is not None:
                yield node, [passed[1], passed[2], *passed[4:5]], pointed


def _is_kernel_pointer(node: Node, kernel: str, source: SourceSymbols) -> bool:
    name, function = called_name(node), source.function_at(function_around(node))
    if name in source.functions or function is None:
        return False
    values = Frame(source, function).values(name)
    return any(syntax.text(strip_casts(each)).partition("<")[0] == kernel for each in values)


def _argument_array(array: Node, call: Node, source: SourceSymbols) -> list[Node] | None:
    """What ``void* args[] = {&a, &b}`` points to."""
    function = source.function_at(function_around(call))
    name = syntax.text(strip_casts(array))
    for value in Frame(source, function).values(name, call.start_byte):
        if value.type == "initializer_list":
            return [n for n in map(strip_casts, syntax.parts(value)) if n is not None]
    return None


def _call_chains(source: SourceSymbols, around: Node | None, depth: int = 0) -> Iterator[Frame]:
    """The function at each of its call sites; by itself without one."""
    function = source.function_at(around)
    is_called = False
    if function is not None and depth < _MOST_CALLERS:
        for call in source.calls(function.name):
            caller_node = function_around(call)
            if caller_node is None or syntax.same(caller_node, around):
                continue
            if is_device_function(caller_node):
                continue
            for caller in _call_chains(source, caller_node, depth + 1):
                is_called = True
                template = deduce_template(function.template, call, function.parameters, caller)
                template = {**function.template_defaults, **template}
                yield Frame(source, function, call, caller, template)
    if function is not None and function.template and not is_called:
        for instance in source.instances(function.name):
            is_called = True
            template = dict(zip(function.template, instance, strict=False))
            yield Frame(source, function, template={**function.template_defaults, **template})
    if not is_called:
        yield Frame(source, function)


def _read_launch(
    kernel: KernelSignature,
    node: Node,
    configuration: list[Node],
    passed: list[Node],
    frame: Frame,
) -> HostLaunch:
    values = HostValues(chosen=dict(find_chosen(node)), body=frame.body)
    grid = values.dimensions(configuration[0], frame) if configuration else None
    block = values.dimensions(configuration[1], frame) if len(configuration) > 1 else None
    shared: SizeExpr | None = ZERO
    if len(configuration) > 2:
        shared = values.evaluate(configuration[2], frame)
    parameters = tuple((p.name, p.written) for p in kernel.parameters)
    names = tuple(p.name for p in kernel.template)
    template = deduce_template(names, node, parameters, frame)
    dispatched = find_dispatched(node, frame.source) if names else None
    return HostLaunch(
        line=frame.source.line_of(node),
        frame=frame,
        grid=grid,
        block=block,
        shared_bytes=shared,
        arguments=dict(zip((p.name for p in kernel.parameters), passed, strict=False)),
        values=values,
        template=_resolve_template(
            kernel, template, frame.elsewhere(node.start_byte), values, dispatched
        ),
        dispatched=dispatched,
    )


def _is_global_class(name: str, frame: Frame) -> bool:
    # And no template parameter of the function
    own = () if frame.function is None else frame.function.template
    return name in frame.source.global_classes and name not in own


def _resolve_template(
    kernel: KernelSignature,
    template: Mapping[str, str],
    frame: Frame,
    values: HostValues,
    dispatched: DispatchedType | None,
) -> tuple[str, ...]:
    """The arguments up to the first unknown one, with named constants as numbers."""
    resolved = []
    for each in kernel.template:
        text, element = template.get(each.name), is_element(each, kernel)
        if dispatched is not None and element:
            text = dispatched.resolve(text, each.name, frame.source)
        elif dispatched is not None and text is not None:
            text = dispatched.within(text)
        if text is None:
            break
        number = None
        if (
            text.isidentifier()
            and text not in {"true", "false"}
            and frame.source.types.element(text) is None
            and (element or not _is_global_class(text, frame))
        ):
            number = values.evaluate(syntax.parse_expression(text), frame)
            if number is not None and number.constant is None and number.names <= set(values.sizes):
                sizes = {k: v for k, v in values.sizes.items() if v is not None}
                number = (
                    amounts.constant_size(number.value(sizes))
                    if number.names <= set(sizes)
                    else None
                )
            if number is None or number.constant is None:
                if text not in frame.source.enumerators:
                    break
                number = None
        resolved.append(text if number is None else number.text)
    return tuple(resolved)
