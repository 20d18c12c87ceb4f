"""What names stand for in a source: its functions, macros, constants, and the variables of one.

A :class:`Frame` is a function as it is called from somewhere: what its parameters stand for is
looked for where that is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kernelprof.launch import syntax
from kernelprof.launch.signature import template_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from kernelprof.launch.guess.written_types import Types


@dataclass(frozen=True)
class Function:
    """A function that the source defines."""

    name: str
    node: Node
    parameters: tuple[tuple[str, str], ...]
    """Names and types, as they are written."""
    template: tuple[str, ...]
    defaults: Mapping[str, Node] = field(default_factory=dict)

    @property
    def body(self) -> Node | None:
        """What it does."""
        return syntax.child(self.node, "body")


class Source:
    """A source with what it declares."""

    def __init__(self, nodes: Sequence[Node], types: Types) -> None:
        """``nodes`` are all those that count, of the file itself at first."""
        self._all = nodes
        self.types = types
        self.functions: dict[str, Function] = {}
        self.macros: dict[str, tuple[tuple[str, ...], str]] = {}
        self.globals: dict[str, list[Node]] = {}
        """Values that names get at the top of the file."""
        for node in nodes:
            match node.type:
                case "function_definition":
                    self._function(node)
                case "preproc_function_def":
                    inner = syntax.child(node, "parameters")
                    names = () if inner is None else tuple(map(syntax.text, inner.named_children))
                    value = syntax.text(syntax.child(node, "value"))
                    self.macros[syntax.text(syntax.child(node, "name"))] = (names, value)
                case "preproc_def" | "enumerator":
                    self._note(node, "name")
                case "init_declarator" if function_around(node) is None:
                    self._note(node, "declarator")

    @cached_property
    def device_names(self) -> frozenset[str]:
        """All names in functions that run on the device: what they stand for cannot be changed."""
        found = set()
        for function in self.functions.values():
            words = {syntax.text(part) for part in function.node.children}
            if words & {"__global__", "__device__"}:
                found |= {
                    syntax.text(n) for n in syntax.walk(function.node) if n.type == "identifier"
                }
        for _, text in self.macros.values():
            found |= set(re.findall(r"[A-Za-z_]\w*", text))
        return frozenset(found)

    @cached_property
    def nodes(self) -> Mapping[str, list[Node]]:
        """All nodes by their type, of those that are asked for often."""
        wanted = {"call_expression", "assignment_expression", "init_declarator", "declaration"}
        wanted.add("template_instantiation")
        found: dict[str, list[Node]] = {each: [] for each in wanted}
        for node in self._all:
            if node.type in wanted:
                found[node.type].append(node)
        return found

    def place(self, node: Node) -> str:
        """Where a node is, as comments say it."""
        root = node
        while root.parent is not None:
            root = root.parent
        line = node.start_point[0] + 1
        own = syntax.same(root, self._all[0])
        return f"line {line}" if own else f"line {line} of a file that it includes"

    def instances(self, name: str) -> Iterator[tuple[str, ...]]:
        """The template arguments that a function is instantiated with, as written or as given."""
        function = self.functions[name]
        for node in self.nodes["template_instantiation"]:
            text = syntax.text(node)
            if re.search(rf"\b{re.escape(name)}\s*<", text):
                yield template_arguments(text[text.index(name) :])
            elif re.search(rf"\b{re.escape(name)}\s*\(", text):
                written = text.partition("(")[2].split(",")
                pairs = list(zip(function.parameters, written, strict=False))
                found = []
                for each in function.template:
                    types = (
                        " ".join(other.replace("*", " ").split()[:-1])
                        for (_, kind), other in pairs
                        if each in kind.replace("*", " ").split()
                    )
                    found.append(next(types, ""))
                yield tuple(found)

    def calls(self, name: str) -> Iterator[Node]:
        """The calls of a function, by its own name."""
        for node in self.nodes["call_expression"]:
            if called(node) == name:
                yield node

    def _note(self, node: Node, key: str) -> None:
        value = syntax.child(node, "value")
        name = syntax.text(syntax.child(node, key))
        if value is not None and name:
            self.globals.setdefault(name.partition("[")[0], []).append(value)

    def _function(self, node: Node) -> None:
        declarator = syntax.child(node, "declarator")
        while declarator is not None and declarator.type != "function_declarator":
            declarator = syntax.child(declarator, "declarator")
        parameters = syntax.child(declarator, "parameters")
        name = syntax.text(syntax.child(declarator, "declarator")).rpartition("::")[2]
        if parameters is None or not name:
            return
        listed, defaults = [], {}
        for each in parameters.named_children:
            if each.type not in {"parameter_declaration", "optional_parameter_declaration"}:
                continue
            inner = innermost(syntax.child(each, "declarator"))
            listed.append((syntax.text(inner), syntax.text(each)))
            if (default := syntax.child(each, "default_value")) is not None:
                defaults[syntax.text(inner)] = default
        around = node.parent
        template: tuple[str, ...] = ()
        if around is not None and around.type == "template_declaration":
            template = tuple(template_names(around))
        self.functions.setdefault(name, Function(name, node, tuple(listed), template, defaults))


def template_names(node: Node) -> Iterator[str]:
    """The names of a template's parameters."""
    parameters = syntax.child(node, "parameters")
    for part in [] if parameters is None else parameters.named_children:
        if part.type == "comment":
            continue
        inner = syntax.child(part, "name") or innermost(syntax.child(part, "declarator"))
        yield syntax.text(inner or next(iter(part.named_children), None))


@dataclass(frozen=True)
class Frame:
    """A function, called at ``call`` in the ``caller``; both ``None`` where nobody calls it."""

    source: Source
    function: Function | None
    call: Node | None = None
    caller: Frame | None = None
    chosen: Mapping[str, str] = field(default_factory=dict)
    """The arguments of its template, by name."""

    @property
    def body(self) -> Node | None:
        """What the function does."""
        return None if self.function is None else self.function.body

    def argument(self, name: str) -> Node | None:
        """What a parameter is called with."""
        if self.function is None or self.call is None:
            return None
        given = arguments(self.call)
        for index, (each, _) in enumerate(self.function.parameters):
            if each == name:
                return given[index] if index < len(given) else self.function.defaults.get(name)
        return None

    def has_parameter(self, name: str) -> bool:
        """Whether one of the function's parameters is called so."""
        return self.function is not None and any(
            each == name for each, _ in self.function.parameters
        )

    def values(self, name: str, before: int) -> list[Node]:
        """What a variable gets in the function before a place, the last first."""
        body = self.body
        if body is None:
            return []
        found = []
        for kind, key, value in (
            ("init_declarator", "declarator", "value"),
            ("assignment_expression", "left", "right"),
        ):
            for node in self.source.nodes[kind]:
                if not body.start_byte <= node.start_byte < min(before, body.end_byte):
                    continue
                target = syntax.child(node, key)
                written = syntax.text(innermost(target) if kind == "init_declarator" else target)
                given = syntax.child(node, value)
                plain = syntax.text(syntax.child(node, "operator")) in {"", "="}
                if written == name and given is not None and plain:
                    found.append(given)
        return sorted(found, key=lambda each: -each.start_byte)

    def declared(self, name: str) -> str | None:
        """The type that a name is declared with in the function or at the top, as written."""
        if self.function is not None:
            for each, written in self.function.parameters:
                if each == name:
                    return written
        for node in self.source.nodes["declaration"]:
            around = function_around(node)
            inside = around is None or (
                self.function is not None and syntax.same(around, self.function.node)
            )
            if not inside:
                continue
            for part in node.children_by_field_name("declarator"):
                inner = syntax.child(part, "declarator") if "init" in part.type else part
                if syntax.text(innermost(inner)) == name:
                    stars = "*" * syntax.text(inner).count("*")
                    return syntax.text(syntax.child(node, "type")) + stars
        return None


def function_around(node: Node) -> Node | None:
    """The definition of the function that a node stands in."""
    current = node.parent
    while current is not None and current.type != "function_definition":
        current = current.parent
    return current


def called(node: Node) -> str:
    """The name of the function that is called, without namespaces and template arguments."""
    function = syntax.child(node, "function")
    if function is not None and function.type == "qualified_identifier":
        function = syntax.child(function, "name")
    if function is not None and function.type == "template_function":
        function = syntax.child(function, "name")
    return syntax.text(function).rpartition("::")[2]


def arguments(call: Node) -> list[Node]:
    """What a function is called with."""
    given = syntax.child(call, "arguments")
    return [] if given is None else [n for n in given.named_children if n.type != "comment"]


def written_template(call: Node) -> tuple[str, ...]:
    """The template arguments that a call writes."""
    function = syntax.child(call, "function")
    while function is not None and function.type == "qualified_identifier":
        function = syntax.child(function, "name")
    if function is None or function.type != "template_function":
        return ()
    given = syntax.child(function, "arguments")
    return () if given is None else tuple(map(syntax.text, given.named_children))


def innermost(declarator: Node | None) -> Node | None:
    """The name in ``*(&name)[4]``."""
    while declarator is not None:
        inner = syntax.child(declarator, "declarator")
        if inner is None and declarator.type in {
            "parenthesized_declarator",
            "reference_declarator",
        }:
            inner = next(iter(declarator.named_children), None)
        if inner is None:
            break
        declarator = inner
    return declarator


def uncast(node: Node | None) -> Node | None:
    """A value without parentheses, casts and what takes the address of it."""
    while node is not None:
        if node.type == "parenthesized_expression":
            node = next(iter(node.named_children), None)
        elif node.type == "cast_expression":
            node = syntax.child(node, "value")
        elif node.type == "call_expression" and called(node) in {
            "static_cast", "reinterpret_cast", "const_cast", "raw_pointer_cast",
        }:  # fmt: skip
            node = next(iter(arguments(node)), None)
        elif node.type == "pointer_expression" and syntax.text(node).startswith("&"):
            node = syntax.child(node, "argument")
        else:
            break
    return node


def returned_only(body: Node | None) -> Node | None:
    """What a function returns that does nothing else."""
    inside = [] if body is None else [n for n in body.named_children if n.type != "comment"]
    if len(inside) != 1 or inside[0].type != "return_statement":
        return None
    return next(iter(inside[0].named_children), None)
