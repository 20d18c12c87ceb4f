"""Launches of a kernel in its own file: grid, block, arguments, and template arguments.

``kernel<<<grid, block, bytes>>>(arguments)``, and ``cudaLaunchKernel`` with an array of arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.host_values import (
    Elsewhere,
    HostValues,
    allocated_length,
    random_bound,
)
from kernelprof.launch.inference.symbols import (
    Frame,
    arguments,
    called_name,
    function_around,
    is_device_function,
    uncast,
    written_template,
)
from kernelprof.launch.signature import template_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.symbols import SourceSymbols
    from kernelprof.launch.signature import KernelSignature

LAUNCH_FUNCTIONS: Final = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"}
TILE_NAME: Final = re.compile(r"tile|block|^bs$|^bx$|^by$|threads", re.IGNORECASE)
_MOST_CALLERS: Final = 4
_MOST_LAUNCHES: Final = 8
"""Launches that are read, and call chains of each: the first ones are like the others."""
_USUAL_TILE, _USUAL_THREADS = "16", "256"
_INTEGER_WORDS: Final = {"unsigned", "long", "short", "int", "char", "signed"}
_QUALIFIERS: Final = {"const", "__restrict__", "restrict", "volatile"}


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

    @property
    def known_parts(self) -> int:
        """How many of its parts are known."""
        parts = (self.grid, self.block, self.shared_bytes)
        return sum(each is not None for each in parts) + (self.frame.call is not None)

    def allocated_length(self, parameter: str, element_bytes: int) -> SizeExpr | None:
        """Return how many elements the host allocates for an array parameter."""
        return allocated_length(
            self.arguments.get(parameter), self.frame, self.values, element_bytes
        )

    def random_bound(self, parameter: str) -> SizeExpr | None:
        """Return the bound of random numbers that the host writes to an array parameter."""
        return random_bound(self.arguments.get(parameter), self.frame, self.values)


def find_launches(kernel: KernelSignature, source: SourceSymbols) -> list[HostLaunch]:
    """Find all launches of a kernel, the one with most known parts first."""
    launches = [
        _read_launch(kernel, node, configuration, passed, frame)
        for node, configuration, passed in islice(_launch_calls(kernel, source), _MOST_LAUNCHES)
        for frame in islice(_call_chains(source, function_around(node)), _MOST_LAUNCHES)
    ]
    return sorted(launches, key=lambda each: -each.known_parts)


def _launch_calls(
    kernel: KernelSignature, source: SourceSymbols
) -> Iterator[tuple[Node, list[Node], list[Node]]]:
    # Each launch: the call, what is in its brackets, its arguments.
    plain = kernel.name.rpartition("::")[2]
    for node in source.nodes["call_expression"]:
        name, passed = called_name(node), arguments(node)
        brackets = next((n for n in node.children if n.type == "kernel_call_syntax"), None)
        if brackets is not None and (name == plain or _is_kernel_pointer(node, plain, source)):
            yield node, syntax.parts(brackets), passed
        elif name in LAUNCH_FUNCTIONS:
            target = uncast(passed[0]) if len(passed) >= 4 else None
            if syntax.text(target).partition("<")[0].rpartition("::")[2] != plain:
                continue
            pointed = _argument_array(passed[3], node, source)
            if pointed is not None:
                yield node, [passed[1], passed[2], *passed[4:5]], pointed


def _is_kernel_pointer(node: Node, kernel: str, source: SourceSymbols) -> bool:
    name, function = called_name(node), source.function_at(function_around(node))
    if name in source.functions or function is None:
        return False
    values = Frame(source, function).values(name, 1 << 60)
    return any(syntax.text(uncast(each)).partition("<")[0] == kernel for each in values)


def _argument_array(array: Node, call: Node, source: SourceSymbols) -> list[Node] | None:
    """What ``void* args[] = {&a, &b}`` points to."""
    function = source.function_at(function_around(call))
    name = syntax.text(uncast(array))
    for value in Frame(source, function).values(name, call.start_byte):
        if value.type == "initializer_list":
            return [n for n in map(uncast, syntax.parts(value)) if n is not None]
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
                template = _template_by_name(function.template, call, function.parameters, caller)
                yield Frame(source, function, call, caller, template)
    if function is not None and function.template and not is_called:
        for instance in source.instances(function.name):
            is_called = True
            template = dict(zip(function.template, instance, strict=False))
            yield Frame(source, function, template=template)
    if not is_called:
        yield Frame(source, function)


def _template_by_name(
    names: tuple[str, ...],
    call: Node,
    parameters: tuple[tuple[str, str], ...],
    caller: Frame,
) -> dict[str, str]:
    # Explicit arguments, else by the declared types of what the call passes.
    explicit = [caller.template.get(each, each) for each in written_template(call)]
    template = dict(zip(names, explicit, strict=False))
    for name in names:
        if name in template:
            continue
        for (_, kind), value in zip(parameters, arguments(call), strict=False):
            declared = caller.declared(syntax.text(uncast(value)))
            if name in _words_of_type(kind) and declared is not None:
                plain = _plain_type(declared)
                template[name] = caller.template.get(plain, plain)
                break
    return template


def _words_of_type(written: str) -> list[str]:
    return written.replace("*", " ").replace("&", " ").split()


def _plain_type(declared: str) -> str:
    words = [w for w in _words_of_type(declared) if w not in _QUALIFIERS]
    if words and words[0] not in _INTEGER_WORDS:
        return words[0]
    return " ".join(w for w in words if w in _INTEGER_WORDS)


def _read_launch(
    kernel: KernelSignature,
    node: Node,
    configuration: list[Node],
    passed: list[Node],
    frame: Frame,
) -> HostLaunch:
    values = HostValues()
    grid = values.dimensions(configuration[0], frame) if configuration else None
    block = values.dimensions(configuration[1], frame) if len(configuration) > 1 else None
    shared: SizeExpr | None = amounts.number(0)
    if len(configuration) > 2:
        shared = values.evaluate(configuration[2], frame)
    parameters = tuple((p.name, p.written) for p in kernel.parameters)
    names = tuple(p.name for p in kernel.template)
    template = _template_by_name(names, node, parameters, frame)
    return HostLaunch(
        line=frame.source.line_of(node),
        frame=frame,
        grid=grid,
        block=block,
        shared_bytes=shared,
        arguments=dict(zip((p.name for p in kernel.parameters), passed, strict=False)),
        values=values,
        template=_known_template(names, template, frame, values),
    )


def _known_template(
    names: tuple[str, ...], template: Mapping[str, str], frame: Frame, values: HostValues
) -> tuple[str, ...]:
    # The arguments up to the first unknown one; named constants as numbers.
    resolved = []
    for name in names:
        if name not in template:
            break
        text = template[name]
        number = None
        if (
            text.isidentifier()
            and text not in {"true", "false"}
            and frame.source.types.element(text) is None
        ):
            tree = syntax.parse(f"int x = {text};")
            value = next((n for n in syntax.walk(tree) if n.type == "init_declarator"), None)
            number = values.evaluate(syntax.child(value, "value"), Elsewhere(frame))
            if number is not None and number.constant is None and number.names <= set(values.sizes):
                sizes = {k: v for k, v in values.sizes.items() if v is not None}
                number = amounts.number(number.value(sizes)) if number.names <= set(sizes) else None
            if number is None or number.constant is None:
                break
        resolved.append(text if number is None else number.text)
    return tuple(resolved)


def choose_template(
    kernel: KernelSignature,
    source: SourceSymbols,
    launches: Sequence[HostLaunch],
    name: str | None,
    body: str,
) -> tuple[dict[str, str], str]:
    """Return the template arguments by name, and the evidence for them.

    They are those of the requested ``name``, an instantiation, a launch, or the defaults. Types
    are never made up: they decide every size in bytes.
    """
    names = [each.name for each in kernel.template]
    if not names:
        return {}, ""
    defaults = {p.name: p.default for p in kernel.template if p.default is not None}
    if name is not None and "<" in name:
        return defaults | dict(zip(names, template_arguments(name), strict=False)), "as asked for"
    candidates = [
        *((instance, f"{line} instantiates it") for instance, line in _instances(kernel, source)),
        *((launch.template, f"{launch.line} launches it so") for launch in launches),
    ]
    for instance, evidence in candidates:
        template = defaults | dict(zip(names, instance, strict=False))
        if len(template) == len(names):
            return template, evidence
    template = dict(defaults)
    integers = {"int", "unsigned", "size_t", "unsigned int"}
    for each in kernel.template:
        if each.name not in template and each.kind in integers and TILE_NAME.search(each.name):
            threads = re.search("thread|block_?size|block_?dim", each.name, re.IGNORECASE)
            in_a_row = threads and "threadIdx.y" not in body
            template[each.name] = _USUAL_THREADS if in_a_row else _USUAL_TILE
    has_guess = len(template) > len(defaults)
    return template, "a usual tile" if has_guess else "the template's default"


def _instances(
    kernel: KernelSignature, source: SourceSymbols
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Explicit instantiations in the file: ``template __global__ void f<float>(...);``."""
    pattern = re.compile(rf"\b{re.escape(kernel.name.rpartition('::')[2])}\s*<")
    for node in source.nodes["template_instantiation"]:
        text = syntax.text(node)
        if (at := pattern.search(text)) is not None:
            yield template_arguments(text[at.start() :]), source.line_of(node)
