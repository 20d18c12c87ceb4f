"""Launches of a kernel in its own file: its grid, its arguments, and its template's.

``kernel<<<grid, block, bytes>>>(arguments)``, and ``cudaLaunchKernel`` with an array of arguments.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.names import (
    Frame,
    arguments,
    called,
    function_around,
    uncast,
    written_template,
)
from kernelprof.launch.guess.values import Elsewhere, Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.names import Source
    from kernelprof.launch.signature import KernelSignature

_MOST_CALLERS: Final = 4
_MOST_LAUNCHES: Final = 8
"""That are looked at, and callers of each: the first ones are like the others."""
_BY_ADDRESS: Final = {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"}


@dataclass(frozen=True)
class HostLaunch:
    """One launch, seen from one chain of callers."""

    place: str
    """``line 40``."""
    frame: Frame
    grid: tuple[Amount, ...] | None
    block: tuple[Amount, ...] | None
    shared_bytes: Amount | None
    """Dynamic shared memory; ``None`` where it cannot be worked out."""
    arguments: Mapping[str, Node]
    """What the kernel's parameters are given."""
    values: Values
    template: tuple[str, ...] = field(default=())
    """The template's arguments, as far as they are known, with the callers' types in them."""

    @property
    def known(self) -> int:
        """How much of it is known."""
        parts = (self.grid, self.block, self.shared_bytes)
        return sum(each is not None for each in parts) + (self.frame.call is not None)


def launches(kernel: KernelSignature, source: Source) -> list[HostLaunch]:
    """All launches of a kernel that can be seen, the one that most is known of first."""
    found = [
        _launch(kernel, node, configuration, given, frame)
        for node, configuration, given in islice(_calls(kernel, source), _MOST_LAUNCHES)
        for frame in islice(_frames(source, function_around(node)), _MOST_LAUNCHES)
    ]
    return sorted(found, key=lambda each: -each.known)


def _calls(
    kernel: KernelSignature, source: Source
) -> Iterator[tuple[Node, list[Node], list[Node]]]:
    """Each launch: the call, what stands between its brackets, what it is given."""
    plain = kernel.name.rpartition("::")[2]
    for node in source.nodes["call_expression"]:
        brackets = next((n for n in node.children if n.type == "kernel_call_syntax"), None)
        if brackets is not None and (called(node) == plain or _is_pointer(node, plain, source)):
            yield node, [n for n in brackets.named_children if n.type != "comment"], arguments(node)
        elif called(node) in _BY_ADDRESS:
            given = arguments(node)
            target = uncast(given[0]) if len(given) >= 4 else None
            if syntax.text(target).partition("<")[0].rpartition("::")[2] != plain:
                continue
            passed = _listed(given[3], node, source)
            if passed is not None:
                yield node, [given[1], given[2], *given[4:5]], passed


def _is_pointer(node: Node, kernel: str, source: Source) -> bool:
    """Whether a launch goes by way of a variable that the kernel is assigned to."""
    name, around = called(node), function_around(node)
    function = next((f for f in source.functions.values() if syntax.same(f.node, around)), None)
    if name in source.functions or function is None:
        return False
    given = Frame(source, function).values(name, 1 << 60)
    return any(syntax.text(uncast(each)).partition("<")[0] == kernel for each in given)


def _listed(array: Node, call: Node, source: Source) -> list[Node] | None:
    """What ``void* args[] = {&a, &b}`` holds."""
    around = function_around(call)
    name = syntax.text(uncast(array))
    function = next((f for f in source.functions.values() if syntax.same(f.node, around)), None)
    for value in Frame(source, function).values(name, call.start_byte):
        if value.type == "initializer_list":
            inner = [uncast(n) for n in value.named_children if n.type != "comment"]
            return [each for each in inner if each is not None]
    return None


def _frames(source: Source, around: Node | None, depth: int = 0) -> Iterator[Frame]:
    """The function as it is called from each place that calls it; by itself if none does."""
    function = next((f for f in source.functions.values() if syntax.same(f.node, around)), None)
    found = False
    if function is not None and depth < _MOST_CALLERS:
        for call in source.calls(function.name):
            caller_node = function_around(call)
            if caller_node is None or syntax.same(caller_node, around):
                continue
            if {"__global__", "__device__"} & {syntax.text(n) for n in caller_node.children}:
                continue
            for caller in _frames(source, caller_node, depth + 1):
                found = True
                chosen = _chosen(function.template, call, function.parameters, caller)
                yield Frame(source, function, call, caller, chosen)
    if function is not None and function.template and not found:
        for written in source.instances(function.name):
            found = True
            yield Frame(
                source, function, chosen=dict(zip(function.template, written, strict=False))
            )
    if not found:
        yield Frame(source, function)


def _chosen(
    template: tuple[str, ...],
    call: Node,
    parameters: tuple[tuple[str, str], ...],
    caller: Frame,
) -> dict[str, str]:
    """A template's arguments by name: those that a call writes, else by the types it is given."""
    written = [_resolved(each, caller) for each in written_template(call)]
    chosen = dict(zip(template, written, strict=False))
    given = arguments(call)
    for name in template:
        if name in chosen:
            continue
        for (_, kind), value in zip(parameters, given, strict=False):
            words = kind.replace("*", " ").replace("&", " ").split()
            declared = caller.declared(syntax.text(uncast(value)))
            if name in words and declared is not None:
                chosen[name] = _resolved(_stripped(declared), caller)
                break
    return chosen


def _resolved(text: str, frame: Frame) -> str:
    """A template argument with what the frame's own template is called with."""
    return frame.chosen.get(text, text)


def _stripped(declared: str) -> str:
    words = declared.replace("*", " ").replace("&", " ").split()
    kept = [w for w in words if w not in {"const", "__restrict__", "restrict", "volatile"}]
    known = {"unsigned", "long", "short", "int", "char", "signed"}
    return " ".join(kept[:1] if kept and kept[0] not in known else [w for w in kept if w in known])


def _launch(
    kernel: KernelSignature,
    node: Node,
    configuration: list[Node],
    given: list[Node],
    frame: Frame,
) -> HostLaunch:
    values = Values()
    grid = values.dimensions(configuration[0], frame) if configuration else None
    block = values.dimensions(configuration[1], frame) if len(configuration) > 1 else None
    shared: Amount | None = amounts.number(0)
    if len(configuration) > 2:
        shared = values.of(configuration[2], frame)
    parameters = tuple((p.name, p.written) for p in kernel.parameters)
    names = tuple(p.name for p in kernel.template)
    chosen = _chosen(names, node, parameters, frame)
    return HostLaunch(
        place=frame.source.place(node),
        frame=frame,
        grid=grid,
        block=block,
        shared_bytes=shared,
        arguments=dict(zip((p.name for p in kernel.parameters), given, strict=False)),
        values=values,
        template=_in_order(names, chosen, frame, values),
    )


def _in_order(
    names: tuple[str, ...], chosen: Mapping[str, str], frame: Frame, values: Values
) -> tuple[str, ...]:
    """The template's arguments up to the first that is not known; constants as numbers."""
    found = []
    for name in names:
        if name not in chosen:
            break
        text = chosen[name]
        number = None
        if (
            text.isidentifier()
            and text not in {"true", "false"}
            and frame.source.types.element(text) is None
        ):
            at = syntax.parse(f"int x = {text};")
            value = next((n for n in syntax.walk(at) if n.type == "init_declarator"), None)
            number = values.of(syntax.child(value, "value"), Elsewhere(frame))
            if number is not None and number.constant is None and number.names <= set(values.sizes):
                known = {k: v for k, v in values.sizes.items() if v is not None}
                number = amounts.number(number.value(known)) if number.names <= set(known) else None
            if number is None or number.constant is None:
                break
        found.append(text if number is None else number.text)
    return tuple(found)
