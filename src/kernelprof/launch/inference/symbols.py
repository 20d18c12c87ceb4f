"""Types and symbols of a source (functions, macros, constants, variables), as they are declared.

A :class:`Frame` is a function at one of its call sites, where the arguments of its parameters are
looked up.
"""

from __future__ import annotations

import copy
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.signature import plain_type, template_arguments, template_parameters
from kernelprof.launch.specification.elements import element_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Node


_QUALIFIERS: Final = re.compile(
    r"\b(const|volatile|static|struct|enum|typename|__restrict__|__restrict|restrict|__grid_constant__)\b"
)
_VECTOR: Final = re.compile(r"(u?(?:char|short|int|long|longlong)|float|double)([1-4])")
_OF_LIBRARIES: Final = {
    "half2": ("float16", 2), "__half2": ("float16", 2),
    "nv_bfloat162": ("bfloat16", 2), "__nv_bfloat162": ("bfloat16", 2),
    "cuFloatComplex": ("float32", 2), "cuComplex": ("float32", 2), "cufftComplex": ("float32", 2),
    "cuDoubleComplex": ("float64", 2), "cufftDoubleComplex": ("float64", 2),
    "cufftReal": ("float32", 1), "cufftDoubleReal": ("float64", 1),
    "at::Half": ("float16", 1), "c10::Half": ("float16", 1),
    "at::BFloat16": ("bfloat16", 1), "c10::BFloat16": ("bfloat16", 1),
    "curandState": ("uint32", 12), "curandState_t": ("uint32", 12),
    "curandStateXORWOW_t": ("uint32", 12), "curandStateMRG32k3a_t": ("uint32", 12),
    "curandStatePhilox4_32_10_t": ("uint32", 16),
}  # fmt: skip
"""Types of NVIDIA's headers and of PyTorch's: numbers of one type, and how many. States of
generators, whose members differ, are words."""
_VECTORS: Final = {"longlong": "int64", "ulonglong": "uint64", "long": "int64", "ulong": "uint64"}
_BYTES: Final = "uint8"
_MOST_NAMES: Final = 16
AXES: Final = "xyzw"


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: ``count`` numbers of one type."""

    type: str
    count: int = 1
    mixed: bool = False
    """Whether it is a structure of different types, taken as bytes."""
    enumerators: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Those of an enumeration, the first one first."""

    @property
    def bytes(self) -> int:
        """Bytes of one element."""
        return element_bytes(self.type) * self.count


@dataclass(frozen=True, slots=True)
class StructField:
    """A member of a structure."""

    name: str
    element: Element | None
    count: int = 1
    pointer: bool = False
    const: bool = False
    align: int | None = None


class Types:
    """The types of a source, beside those of C and CUDA, with structures of plain members."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._chosen: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._structures: dict[str, Node] = {}
        self._enumerations: dict[str, tuple[str, dict[str, int]]] = {}
        """Their base types and enumerators."""
        for node in nodes:
            if node.type == "enum_specifier" and syntax.child(node, "body") is not None:
                self._enumeration(node, syntax.child_text(node, "name"))
            elif node.type == "type_definition":
                self._typedef(node)
            elif node.type == "alias_declaration":
                name, kind = syntax.child(node, "name"), syntax.child(node, "type")
                self._aliases.setdefault(syntax.text(name), syntax.text(kind))
            elif node.type == "struct_specifier" and syntax.child(node, "body") is not None:
                self._structures[syntax.child_text(node, "name")] = node
            elif node.type == "preproc_def":
                name, value = syntax.child(node, "name"), syntax.child(node, "value")
                if plain_type(bare_type(syntax.text(value))) is not None:
                    self._aliases.setdefault(syntax.text(name), syntax.text(value))

    def _typedef(self, node: Node) -> None:
        name, kind = syntax.child(node, "declarator"), syntax.child(node, "type")
        if name is None or name.type not in {"type_identifier", "primitive_type"}:
            return
        if kind is not None and kind.type == "struct_specifier" and syntax.child(kind, "body"):
            self._structures[syntax.text(name)] = kind
        elif kind is not None and kind.type == "enum_specifier" and syntax.child(kind, "body"):
            self._enumeration(kind, syntax.text(name))
        else:
            self._aliases.setdefault(syntax.text(name), syntax.text(kind))

    def _enumeration(self, node: Node, name: str) -> None:
        enumerators: dict[str, int] = {}
        following = 0
        for each in syntax.parts(syntax.child(node, "body")):
            written = syntax.child_text(each, "value")
            is_plain = not written or re.fullmatch(r"-?(0|[1-9]\d*)", written)
            if not name or each.type != "enumerator" or not is_plain:
                return
            following = int(written or following)
            enumerators[syntax.child_text(each, "name")] = following
            following += 1
        self._enumerations[name] = syntax.child_text(node, "base") or "int", enumerators

    def with_template(self, chosen: Mapping[str, str]) -> Types:
        """Return the same types with other template arguments."""
        types = copy.copy(self)
        types._chosen = {**self._chosen, **chosen}
        return types

    def element(self, written: str) -> Element | None:
        """Return a type's element, without pointers and qualifiers; ``None`` if unknown."""
        name = self._resolve_name(bare_type(written))
        base, enumerators = self._enumerations.get(name.rpartition("::")[2], (name, {}))
        if (plain := plain_type(self._resolve_name(base))) is not None:
            return Element(plain, enumerators=enumerators)
        return self._vector(name) or self._structure(name)

    def _resolve_name(self, name: str) -> str:
        for _ in range(_MOST_NAMES):
            meaning = self._chosen.get(name) or self._aliases.get(name)
            if meaning is None or bare_type(meaning) == name:
                break
            name = bare_type(meaning)
        return name

    def _vector(self, name: str) -> Element | None:
        if name in _OF_LIBRARIES:
            return Element(*_OF_LIBRARIES[name])
        vector = _VECTOR.fullmatch(name)
        if vector is None:
            return None
        kind = _VECTORS.get(vector[1]) or plain_type(vector[1])
        return None if kind is None else Element(kind, int(vector[2]))

    def fields(self, written: str) -> list[StructField] | None:
        """Return the members of a structure or vector, ``None`` where their offsets are unknown."""
        name = self._resolve_name(bare_type(written))
        if (whole := self._vector(name)) is not None and whole.count <= len(AXES):
            one = Element(whole.type)
            return [StructField(axis, one) for axis in AXES[: whole.count]]
        node = self._structures.get(name)
        body = syntax.child(node, "body")
        if node is None or body is None or _has_special_layout(node):
            return None
        fields_of_type = []
        for member in syntax.parts(body):
            if member.type in {"function_definition", "access_specifier"}:
                continue
            fields = self._field(member) if member.type == "field_declaration" else None
            if fields is None:
                return None
            fields_of_type += fields
        return fields_of_type or None

    def _field(self, node: Node) -> list[StructField] | None:
        written = syntax.child_text(node, "type")
        declared = node.children_by_field_name("declarator")
        words = {syntax.text(each) for each in node.children}
        is_bitfield = any(each.type == "bitfield_clause" for each in node.children)
        if "static" in words or not declared or is_bitfield:
            return None
        element, vector = (
            self.element(written),
            self._vector(self._resolve_name(bare_type(written))),
        )
        fields_of_line = []
        for each in declared:
            if each.type == "function_declarator":
                continue
            pointer = each.type == "pointer_declarator"
            count = _count_elements(syntax.child(each, "declarator") if pointer else each)
            if count is None or (element is not None and element.mixed):
                return None
            is_vector = vector is not None and vector.count in {2, 4} and not pointer
            align = min(16, element.bytes) if element is not None and is_vector else None
            name = syntax.text(declared_name(each))
            field_of_line = StructField(name, element, count, pointer, "const" in words, align)
            fields_of_line.append(field_of_line)
        return fields_of_line

    def _structure(self, name: str) -> Element | None:
        node = self._structures.get(name)
        body = syntax.child(node, "body")
        if body is None:
            return None
        members: list[Element] = []
        for declaration in syntax.parts(body):
            if declaration.type != "field_declaration":
                return None
            declared = declaration.children_by_field_name("declarator")
            counts = [_count_elements(each) for each in declared]
            # Pointers may be to structures of this type.
            plain = counts and None not in counts
            kind = self.element(syntax.child_text(declaration, "type")) if plain else None
            if kind is None:
                return None
            members += [kind] * sum(each or 0 for each in counts)
        if not members:
            return None
        if len({each.type for each in members}) == 1:
            return Element(members[0].type, sum(each.count for each in members))
        return Element(_BYTES, _struct_bytes(members), mixed=True)


def _count_elements(declarator: Node | None) -> int | None:
    if declarator is not None and declarator.type == "array_declarator":
        size = syntax.child_text(declarator, "size")
        below = _count_elements(syntax.child(declarator, "declarator"))
        return int(size) * below if size.isdecimal() and below else None
    return 1 if declarator is not None and declarator.type == "field_identifier" else None


def _has_special_layout(structure: Node) -> bool:
    text = syntax.text(structure)
    bases = any(each.type == "base_class_clause" for each in structure.children)
    return bases or re.search(r"\b(virtual|alignas|__align__|packed|union)\b", text) is not None


def _struct_bytes(members: list[Element]) -> int:
    at, most = 0, 1
    for each in members:
        align = element_bytes(each.type)
        most = max(most, align)
        at = -(-at // align) * align + each.bytes
    return -(-at // most) * most


def bare_type(written: str) -> str:
    """Remove qualifiers, pointers and references from a type."""
    text = _QUALIFIERS.sub(" ", written)
    return " ".join(re.sub(r"[*&]|\[\w*\]", " ", text).split())


_CASTS: Final = {"static_cast", "reinterpret_cast", "const_cast", "raw_pointer_cast"}


@dataclass(frozen=True)
class FunctionSymbol:
    """A function that the source defines."""

    name: str
    node: Node
    parameters: tuple[tuple[str, str], ...]
    template: tuple[str, ...]
    defaults: Mapping[str, Node] = field(default_factory=dict)
    template_defaults: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> Node | None:
        """The compound statement."""
        return syntax.child(self.node, "body")


@dataclass(frozen=True)
class DeclaredVariable:
    """A declared variable, with its declarator and its initial value."""

    node: Node
    declarator: Node
    value: Node | None
    function: Node | None
    """The definition of the function around it; ``None`` at file scope."""


class SourceSymbols:
    """The symbols of a source; ``nodes`` are its active nodes, those of the file itself first."""

    def __init__(self, nodes: Sequence[Node], types: Types) -> None:
        self._all = nodes
        self.types = types
        self.functions: dict[str, FunctionSymbol] = {}
        self.macros: dict[str, tuple[tuple[str, ...], str]] = {}
        self.globals: dict[str, list[Node]] = {}
        for node in nodes:
            match node.type:
                case "function_definition":
                    self._function(node)
                case "preproc_function_def":
                    inner = syntax.child(node, "parameters")
                    names = () if inner is None else tuple(map(syntax.text, inner.named_children))
                    value = syntax.child_text(node, "value")
                    self.macros[syntax.child_text(node, "name")] = (names, value)
                case "preproc_def" | "enumerator":
                    self._note(node, "name")
                case "init_declarator" if function_around(node) is None:
                    self._note(node, "declarator")

    @cached_property
    def device_names(self) -> frozenset[str]:
        """All names in device functions and macros: their values cannot be changed."""
        names = {
            name for _, text in self.macros.values() for name in re.findall(r"[A-Za-z_]\w*", text)
        }
        for function in self.functions.values():
            if is_device_function(function.node):
                nodes = syntax.walk(function.node)
                names |= {syntax.text(n) for n in nodes if n.type == "identifier"}
        return frozenset(names)

    @cached_property
    def nodes(self) -> Mapping[str, list[Node]]:
        """Nodes by type."""
        nodes = defaultdict(list)
        for node in self._all:
            nodes[node.type].append(node)
        return nodes

    @cached_property
    def classes(self) -> frozenset[str]:
        """Names of classes, wherever they are declared."""
        return frozenset(syntax.child_text(each, "name") for each in self._classes)

    @cached_property
    def global_classes(self) -> frozenset[str]:
        """Names of classes that are seen everywhere."""
        nodes = filter(_is_seen_everywhere, self._classes)
        return frozenset(syntax.child_text(each, "name") for each in nodes)

    @property
    def _classes(self) -> list[Node]:
        return [*self.nodes["struct_specifier"], *self.nodes["class_specifier"]]

    @cached_property
    def enumerators(self) -> frozenset[str]:
        """Names of values of enumerations that are seen everywhere."""
        return frozenset(
            syntax.child_text(each, "name")
            for enum in self.nodes["enum_specifier"]
            if _is_seen_everywhere(enum)
            and not any(word.type in {"class", "struct"} for word in enum.children)
            for each in syntax.walk(enum)
            if each.type == "enumerator"
        )

    @cached_property
    def declarations(self) -> Mapping[str, list[DeclaredVariable]]:
        """Declared variables by name."""
        declarations = defaultdict(list)
        for node in self.nodes["declaration"]:
            for declarator in node.children_by_field_name("declarator"):
                is_initialised = declarator.type == "init_declarator"
                inner = syntax.child(declarator, "declarator") if is_initialised else declarator
                if inner is not None:
                    value = syntax.child(declarator, "value")
                    declared = DeclaredVariable(node, inner, value, function_around(node))
                    declarations[syntax.text(declared_name(inner))].append(declared)
        return declarations

    @cached_property
    def assignments(self) -> Mapping[str, list[tuple[Node, Node]]]:
        """Initialisations and assignments by variable: the node and the value."""
        assignments = defaultdict(list)
        for node in (*self.nodes["init_declarator"], *self.nodes["assignment_expression"]):
            target = syntax.child(node, "left") or declared_name(syntax.child(node, "declarator"))
            value = syntax.child(node, "value") or syntax.child(node, "right")
            if value is not None and syntax.child_text(node, "operator") in {"", "="}:
                assignments[syntax.text(target)].append((node, value))
        return assignments

    @cached_property
    def changes(self) -> Mapping[str, list[Node]]:
        """Where variables get another value from the one that they have: ``n++``, ``n += 3``."""
        changes = defaultdict(list)
        for node in self.nodes["update_expression"]:
            changes[syntax.child_text(node, "argument")].append(node)
        for node in self.nodes["assignment_expression"]:
            if syntax.child_text(node, "operator") != "=":
                changes[syntax.child_text(node, "left")].append(node)
        return changes

    def line_of(self, node: Node) -> str:
        """The line of a node, for comments: ``line 40``."""
        root = node
        while root.parent is not None:
            root = root.parent
        line = node.start_point[0] + 1
        own = syntax.same(root, self._all[0])
        return f"line {line}" if own else f"line {line} of an included file"

    def instances(self, name: str) -> Iterator[tuple[str, ...]]:
        """Yield the template arguments of each explicit instantiation, written or deduced."""
        function = self.functions[name]
        for node in self.nodes["template_instantiation"]:
            text = syntax.text(node)
            if re.search(rf"\b{re.escape(name)}\s*<", text):
                yield template_arguments(text[text.index(name) :])
            elif re.search(rf"\b{re.escape(name)}\s*\(", text):
                written = text.partition("(")[2].split(",")
                pairs = list(zip(function.parameters, written, strict=False))
                arguments = []
                for each in function.template:
                    types = (
                        " ".join(other.replace("*", " ").split()[:-1])
                        for (_, kind), other in pairs
                        if each in kind.replace("*", " ").split()
                    )
                    arguments.append(next(types, ""))
                yield tuple(arguments)

    def calls(self, name: str) -> Iterator[Node]:
        """Yield the calls of a function, by its unqualified name."""
        return (node for node in self.nodes["call_expression"] if called_name(node) == name)

    def function_at(self, node: Node | None) -> FunctionSymbol | None:
        """The function with that definition."""
        return next((f for f in self.functions.values() if syntax.same(f.node, node)), None)

    def _note(self, node: Node, key: str) -> None:
        value = syntax.child(node, "value")
        name = syntax.text(syntax.child(node, key))
        if value is not None and name:
            self.globals.setdefault(name.partition("[")[0], []).append(value)

    def _function(self, node: Node) -> None:
        declarator = syntax.function_declarator(node)
        parameters = syntax.child(declarator, "parameters")
        name = syntax.child_text(declarator, "declarator").rpartition("::")[2]
        if parameters is None or not name:
            return
        listed, defaults = [], {}
        for each in parameters.named_children:
            if each.type not in {"parameter_declaration", "optional_parameter_declaration"}:
                continue
            inner = declared_name(syntax.child(each, "declarator"))
            listed.append((syntax.text(inner), syntax.text(each)))
            if (default := syntax.child(each, "default_value")) is not None:
                defaults[syntax.text(inner)] = default
        template = template_parameters(node) or ()
        names = tuple(each.name for each in template)
        given = {each.name: each.default for each in template if each.default is not None}
        self.functions.setdefault(
            name, FunctionSymbol(name, node, tuple(listed), names, defaults, given)
        )


_SCOPES: Final = frozenset(
    (
        *("function_definition", "compound_statement", "field_declaration_list"),
        *("template_declaration", "declaration_list"),
    )
)
"""What hides names: functions, classes, templates and namespaces."""


def _is_seen_everywhere(node: Node) -> bool:
    outer = node.parent
    while outer is not None and outer.type not in _SCOPES:
        outer = outer.parent
    return outer is None


def is_device_function(node: Node) -> bool:
    """Whether a definition is of a kernel or a device function."""
    return bool({"__global__", "__device__"} & {syntax.text(word) for word in node.children})


_EVERYWHERE: Final = sys.maxsize


@dataclass(frozen=True)
class Frame:
    """A function, called at ``call`` in the ``caller``; both ``None`` without a known call."""

    source: SourceSymbols
    function: FunctionSymbol | None
    call: Node | None = None
    caller: Frame | None = None
    template: Mapping[str, str] = field(default_factory=dict)
    """Its template arguments, by name."""
    place: int | None = None
    """The byte offset at which an expression is taken to stand that is not in the source."""

    @property
    def body(self) -> Node | None:
        """The function's compound statement."""
        return None if self.function is None else self.function.body

    def argument(self, name: str) -> Node | None:
        """The argument of a parameter at the call."""
        if self.function is None or self.call is None:
            return None
        given = call_arguments(self.call)
        for index, (each, _) in enumerate(self.function.parameters):
            if each == name:
                return given[index] if index < len(given) else self.function.defaults.get(name)
        return None

    def has_parameter(self, name: str) -> bool:
        """Whether the function has a parameter of that name."""
        return self.function is not None and any(
            each == name for each, _ in self.function.parameters
        )

    def elsewhere(self, place: int = _EVERYWHERE) -> Frame:
        """Return the frame for an expression that is not in the source, as if it stood there.

        Without a place all assignments count.
        """
        return replace(self, place=place)

    def offset(self, node: Node) -> int:
        """The byte offset at which a node is taken to stand."""
        return node.start_byte if self.place is None else self.place

    def values(self, name: str, before: int = _EVERYWHERE) -> list[Node]:
        """Values assigned to a variable in the function before a byte offset, the last first.

        Not those of a variable that is declared in a block that ends before the offset.
        """
        body = self.body
        if body is None:
            return []
        end = min(before, body.end_byte)
        values = [
            value
            for node, value in self.source.assignments.get(name, ())
            if body.start_byte <= node.start_byte < end
            and (node.type != "init_declarator" or _is_seen_at(node, before))
        ]
        return sorted(values, key=lambda each: -each.start_byte)

    def is_changed(self, name: str, since: Node, before: int) -> bool:
        """Whether the function changes a variable's value between the two: ``n *= size``.

        What a loop does after each round is not done in its first.
        """
        return before != _EVERYWHERE and any(
            since.start_byte < change.start_byte < before
            and not any(
                each.type == "for_statement" and before < each.end_byte for each in _outer(change)
            )
            for change in self.source.changes.get(name, ())
        )

    def declared(self, name: str) -> str | None:
        """The declared type of a name in the function or at file scope, as written."""
        if self.function is not None:
            for each, written in self.function.parameters:
                if each == name:
                    return written
        for declaration in self.source.declarations.get(name, ()):
            if declaration.function is None or self.is_around(declaration):
                stars = "*" * syntax.text(declaration.declarator).count("*")
                return syntax.child_text(declaration.node, "type") + stars
        return None

    def is_around(self, declaration: DeclaredVariable) -> bool:
        """Whether a declaration is in the function."""
        function = None if self.function is None else self.function.node
        return syntax.same(declaration.function, function)


def _is_seen_at(declarator: Node, offset: int) -> bool:
    # Whether the block with a declaration still goes on there
    block = next((each for each in _outer(declarator) if each.type == "compound_statement"), None)
    return block is None or offset < block.end_byte or offset == _EVERYWHERE


def _outer(node: Node) -> Iterator[Node]:
    while (outer := node.parent) is not None:
        yield outer
        node = outer


def is_constant(declaration: Node | None) -> bool:
    """Whether a declaration is ``const`` or ``constexpr``."""
    children = [] if declaration is None else declaration.children
    return any(syntax.text(each) in {"const", "constexpr"} for each in children)


def function_around(node: Node) -> Node | None:
    """The definition of the function around a node."""
    current = node.parent
    while current is not None and current.type != "function_definition":
        current = current.parent
    return current


def _callee(call: Node) -> Node | None:
    function = syntax.child(call, "function")
    while function is not None and function.type == "qualified_identifier":
        function = syntax.child(function, "name")
    return function


def called_name(node: Node) -> str:
    """The called function's name, without namespaces and template arguments."""
    function = _callee(node)
    if function is not None and function.type == "template_function":
        function = syntax.child(function, "name")
    return syntax.text(function).rpartition("::")[2]


def call_arguments(call: Node) -> list[Node]:
    """The arguments of a call."""
    return syntax.parts(syntax.child(call, "arguments"))


def written_template(call: Node) -> tuple[str, ...]:
    """The explicit template arguments of a call."""
    function = _callee(call)
    if function is None or function.type != "template_function":
        return ()
    given = syntax.child(function, "arguments")
    return () if given is None else tuple(map(syntax.text, given.named_children))


def declared_name(declarator: Node | None) -> Node | None:
    """The name in ``*(&name)[4]``."""
    while declarator is not None and (inner := syntax.inner_declarator(declarator)) is not None:
        declarator = inner
    return declarator


def strip_casts(node: Node | None) -> Node | None:
    """A value without parentheses, casts and address-of operators."""
    while node is not None:
        if node.type == "parenthesized_expression":
            node = next(iter(node.named_children), None)
        elif node.type == "cast_expression":
            node = syntax.child(node, "value")
        elif node.type == "call_expression" and called_name(node) in _CASTS:
            node = next(iter(call_arguments(node)), None)
        elif node.type == "pointer_expression" and syntax.text(node).startswith("&"):
            node = syntax.child(node, "argument")
        else:
            break
    return node


def returned_only(body: Node | None) -> Node | None:
    """The value of a function that is a single return statement."""
    inside = syntax.parts(body)
    if len(inside) != 1 or inside[0].type != "return_statement":
        return None
    return next(iter(inside[0].named_children), None)


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
