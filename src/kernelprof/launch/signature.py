"""What a CUDA source declares: its kernels with their parameters, and whether it has a ``main``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.errors import InputError
from kernelprof.launch import syntax

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tree_sitter import Node


_TYPES = {
    "bool": "bool",
    "half": "float16",
    "__half": "float16",
    "nv_bfloat16": "bfloat16",
    "__nv_bfloat16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3",
    "__nv_fp8_e5m2": "float8_e5m2",
    "float": "float32",
    "double": "float64",
    "char": "int8",
    "signed char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "long long": "int64",
    "unsigned char": "uint8",
    "unsigned short": "uint16",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
    "unsigned long long": "uint64",
    "uint": "uint32",
    "uchar": "uint8",
    "ushort": "uint16",
    "size_t": "uint64",
    "ssize_t": "int64",
    "ptrdiff_t": "int64",
    "clock_t": "int64",
    **{f"int{bits}_t": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
_TENSOR_MAPS = frozenset(("CUtensorMap", "CUtensorMap_st"))
_WORDS = ("unsigned", "signed", "char", "short", "long", "int")
_NUMBER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)[uUlL]*")
_MOST_TYPEDEFS = 16


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel's parameter. ``type`` is a NumPy name, ``None`` for one that cannot be passed."""

    name: str
    written: str
    type: str | None
    pointer: bool
    const: bool
    """Whether what it points to may not be written."""
    line: int
    tensor_map: bool = False
    map_elsewhere: bool = False
    """Whether it points or refers to tensor maps."""


@dataclass(frozen=True, slots=True)
class TemplateParameter:
    """A template's parameter: its name, its kind (``typename``, ``int``), and its default."""

    name: str
    kind: str
    default: str | None


@dataclass(frozen=True, slots=True)
class KernelSignature:
    """A ``__global__`` function. ``name`` has its namespaces, but no template arguments."""

    name: str
    parameters: tuple[Parameter, ...]
    template: tuple[TemplateParameter, ...] = ()
    defined: bool = True
    readable: bool = True
    """Whether the parser could make sense of the whole signature."""
    launch_bounds: str | None = None
    line: int = 1
    in_unnamed_namespace: bool = False
    """Whether it is in a namespace without a name, and in no other."""


@dataclass(frozen=True, slots=True)
class DeclaredKernel:
    """A kernel and its node in the syntax tree."""

    kernel: KernelSignature
    node: Node


def kernels(source: str) -> tuple[KernelSignature, ...]:
    """Return the kernels of a source in order: definitions, else declarations."""
    root = syntax.parse(source)
    by_name = {each.kernel.name: each.kernel for each in declared_kernels(root)}
    if root.has_error:
        # Within a body that cannot be read the next heads are not seen.
        for each in declared_kernels(syntax.parse(without_bodies(source))):
            by_name.setdefault(each.kernel.name, each.kernel)
    return tuple(sorted(by_name.values(), key=lambda kernel: kernel.line))


def declared_kernels(root: Node) -> list[DeclaredKernel]:
    """Return kernels with their syntax nodes; template specialisations are left out."""
    types = _typedefs(root)
    by_name: dict[str, DeclaredKernel] = {}
    for node in syntax.walk(root):
        if node.type not in {"function_definition", "declaration"}:
            continue
        if not any(child.type == "__global__" for child in node.children):
            continue
        declarator = syntax.function_declarator(node)
        name_node = syntax.child(declarator, "declarator")
        if declarator is None or name_node is None or template_parameters(node) == []:
            continue  # the last is a specialisation: template <>
        kernel = _kernel(node, declarator, name_node, types)
        if kernel.name not in by_name or (
            kernel.defined and not by_name[kernel.name].kernel.defined
        ):
            by_name[kernel.name] = DeclaredKernel(kernel, node)
    return sorted(by_name.values(), key=lambda declared: declared.kernel.line)


def has_main(source: str) -> bool:
    """Whether the source defines ``main`` outside of namespaces and classes."""
    functions = (n for n in syntax.walk(syntax.parse(source)) if n.type == "function_definition")
    return any(
        syntax.child_text(syntax.function_declarator(node), "declarator") == "main"
        and not _scopes(node)
        for node in functions
    )


def includes(source: str) -> tuple[str, ...]:
    """Return each ``#include`` as written: in quotes, in brackets, or a macro's name."""
    return tuple(
        syntax.text(node.child_by_field_name("path")).strip()
        for node in syntax.walk(syntax.parse(source))
        if node.type == "preproc_include"
    )


def quoted_includes(source: str) -> tuple[str, ...]:
    """Return the names of files that are included in quotes."""
    return tuple(each.strip('"') for each in includes(source) if each.startswith('"'))


def choose(declared: Sequence[KernelSignature], name: str | None, where: str) -> KernelSignature:
    """Return the kernel of a name, with or without template arguments, or the only one."""
    if not declared:
        raise InputError(
            "the file has no __global__ function",
            where=where,
            hint="kernelprof cannot find kernels whose __global__ comes from a macro or whose "
            "parameter list contains #if",
        )
    names = ", ".join(kernel.name for kernel in declared)
    if name is None:
        if len(declared) > 1:
            raise InputError(
                f"the file has {len(declared)} kernels: {names}",
                where=where,
                hint=f"choose one with --kernel {declared[0].name}",
            )
        return declared[0]
    plain = name.split("<")[0].strip()
    matching = [k for k in declared if plain in (k.name, k.name.rpartition("::")[2])]
    if len(matching) != 1:
        problem = "there is no kernel" if not matching else "more than one kernel is called"
        raise InputError(f"{problem} {plain!r}", where=where, hint=f"kernels in the file: {names}")
    return matching[0]


def chosen_arguments(kernel: KernelSignature, name: str) -> dict[str, str]:
    """Return template arguments by parameter: those in a name, else the defaults."""
    given = template_arguments(name)
    defaults = {p.name: p.default for p in kernel.template if p.default is not None}
    return defaults | {p.name: text for p, text in zip(kernel.template, given, strict=False)}


def template_type(parameter: Parameter, chosen: Mapping[str, str]) -> str | None:
    """Return the NumPy name of a template parameter's type, or ``None``."""
    bare = re.sub(r"\b(const|volatile|__restrict__|__restrict|restrict)\b", " ", parameter.written)
    words = re.findall(r"\w+|[*&]|[^\w\s]", bare)
    pointer = ["*"] * parameter.pointer
    if len(words) != 2 + len(pointer) or words[1:-1] != pointer or words[0] not in chosen:
        return None
    return plain_type(" ".join(chosen[words[0]].split()))


def template_arguments(name: str) -> tuple[str, ...]:
    """Return the first template arguments in a name such as ``ns::copy<64, float>(int)``."""
    inside = name.replace("<unnamed>", "").partition("<")[2]
    arguments, depth, begun = [], 0, 0
    for at, letter in enumerate(inside):
        if not depth and letter in ",>":
            arguments.append(inside[begun:at].strip())
            begun = at + 1
            if letter == ">":
                break
        depth += (letter in "<([") - (letter in ">)]")
    return tuple(each for each in arguments if each)


def plain_argument(written: str) -> str | None:
    """Normalise a number or plain type; ``None`` for anything else."""
    text = re.sub(r"^\([\w\s]+\)\s*", "", " ".join(written.split()))
    number = _NUMBER.fullmatch(text)
    if number:
        octal = re.fullmatch("0[0-7]+", number[2])
        value = int(number[2], 8 if octal else 0)
        return str(-value if number[1] == "-" else value)
    return {"true": "1", "false": "0"}.get(text) or plain_type(text)


def _kernel(
    node: Node, declarator: Node, name_node: Node, types: dict[str, str]
) -> KernelSignature:
    # A macro before the name, as of launch bounds, is read as a namespace that lacks its "::".
    behind_macro = any(each.type == "::" and each.is_missing for each in name_node.children)
    name = syntax.child_text(name_node, "name") if behind_macro else syntax.text(name_node)
    template = tuple(template_parameters(node) or ())
    parameters = syntax.child(declarator, "parameters")
    bounds = next((n for n in node.children if n.type == "launch_bounds"), None)
    known_types = {**types, **{p.name: "" for p in template if p.kind in {"typename", "class"}}}
    listed = [] if parameters is None else parameters.named_children
    kinds = {"parameter_declaration", "optional_parameter_declaration"}
    read = [
        _parameter(n, known_types) for n in listed if n.type in kinds and syntax.text(n) != "void"
    ]
    strange = any(n.type not in {*kinds, "comment"} for n in listed)
    read_parts = [
        n for n in declarator.children if not (behind_macro and syntax.same(n, name_node))
    ]
    broken = any(n.has_error for n in read_parts) or (bounds is not None and bounds.has_error)
    scopes = _scopes(node)
    return KernelSignature(
        name="::".join((*filter(None, scopes), name)),
        parameters=tuple(read),
        template=template,
        defined=node.type == "function_definition",
        readable=not (broken or strange),
        launch_bounds=None if bounds is None else syntax.text(bounds).partition("(")[2][:-1],
        line=node.start_point[0] + 1,
        in_unnamed_namespace=scopes == ("",),
    )


def _parameter(node: Node, types: dict[str, str]) -> Parameter:
    declarator = syntax.child(node, "declarator")
    pointers, simple = 0, True
    while declarator is not None and declarator.type != "identifier":
        if declarator.type in {"pointer_declarator", "array_declarator"}:
            pointers += 1
        else:
            simple = False
        declarator = syntax.child(declarator, "declarator") or next(
            iter(declarator.named_children), None
        )
    written = syntax.child_text(node, "type")
    of_maps, by_value = types.get(written, written) in _TENSOR_MAPS, simple and not pointers
    type_name = plain_type(written, types) if simple and pointers <= 1 else None
    return Parameter(
        name=syntax.text(declarator),
        written=syntax.text(node),
        type=type_name,
        pointer=pointers > 0,
        const=any(n.type == "type_qualifier" and syntax.text(n) == "const" for n in node.children),
        line=node.start_point[0] + 1,
        tensor_map=of_maps and by_value,
        map_elsewhere=of_maps and not by_value,
    )


def plain_type(written: str, types: Mapping[str, str] = MappingProxyType({})) -> str | None:
    """Return the NumPy name of a C or CUDA type such as ``unsigned int``, or ``None``."""
    for _ in range(_MOST_TYPEDEFS):
        if written not in types:
            break
        written = types[written]
    name = written.removeprefix("std::").removeprefix("::")
    words = name.split()
    if words and all(word in _WORDS for word in words):
        name = " ".join(sorted((w for w in words if w != "signed"), key=_WORDS.index)) or "int"
        if name == "char" and "signed" in words:
            name = "signed char"
        if len(name.split()) > 1 and name.split()[-1] == "int" and name != "unsigned int":
            name = name.rpartition(" ")[0]
    return _TYPES.get(name)


def _typedefs(root: Node) -> dict[str, str]:
    """Names of plain types; empty for a name with several meanings."""
    meanings: dict[str, str] = {}
    for node in syntax.walk(root):
        name, written = "", ""
        if node.type == "type_definition":
            declared = syntax.child(node, "declarator")
            if declared is not None and declared.type == "type_identifier":
                name, written = syntax.text(declared), syntax.child_text(node, "type")
        elif node.type == "alias_declaration":
            described = syntax.child(node, "type")
            if described is not None and described.named_child_count == 1:
                name, written = syntax.child_text(node, "name"), syntax.text(described)
        if name:
            meanings[name] = written if meanings.get(name, written) == written else ""
    return meanings


def template_parameters(node: Node) -> list[TemplateParameter] | None:
    """Return the parameters of a template; none of a specialisation, ``None`` without one."""
    parent = node.parent
    if parent is None or parent.type != "template_declaration":
        return None
    read = []
    for parameter in syntax.parts(syntax.child(parent, "parameters")):
        default = syntax.child(parameter, "default_type") or syntax.child(
            parameter, "default_value"
        )
        if "type_parameter" in parameter.type:
            name = syntax.child(parameter, "name") or next(iter(parameter.named_children), None)
            kind = "typename"
        else:
            name = syntax.child(parameter, "declarator") or parameter
            kind = syntax.child_text(parameter, "type")
        read.append(TemplateParameter(syntax.text(name), kind, syntax.text(default) or None))
    return read


def _scopes(node: Node) -> tuple[str, ...]:
    """The namespaces and classes around a node; a namespace without a name is empty."""
    names: list[str] = []
    while (parent := node.parent) is not None:
        node = parent
        if node.type in {"namespace_definition", "class_specifier", "struct_specifier"}:
            names.insert(0, syntax.child_text(node, "name"))
    return tuple(names)


_TOKEN: Final = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|[{}]|[^\s{}"'/]+|/""", re.DOTALL
)


def parse_signatures(source: str, root: Node) -> Node:
    """Return the tree without bodies where only ``root`` has errors; byte offsets stay."""
    if not root.has_error:
        return root
    without = syntax.parse(without_bodies(source))
    return root if without.has_error else without


def without_bodies(source: str) -> str:
    """Replace function bodies by spaces.

    A brace at the start of a line ends a body, also if an ``#ifdef`` opened more of them.
    """
    parts = []
    end, depth, start = 0, 0, 0
    before = ""
    for token in _TOKEN.finditer(source):
        text = token[0]
        if text.startswith(("//", "/*")):
            continue
        if depth:
            depth += (text == "{") - (text == "}")
            if text == "}" and source[token.start() - 1] == "\n":
                depth = 0
            if depth == 0:
                parts += [source[end:start], _blank(source[start : token.start()])]
                end = token.start()
        elif text == "{" and before.endswith(")"):
            depth, start = 1, token.end()
        before = text
    return "".join((*parts, source[end:]))


def _blank(text: str) -> str:
    return re.sub(r"\S", lambda match: " " * len(match[0].encode()), text)
