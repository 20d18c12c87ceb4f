"""Template arguments of kernels, and of the host functions around their launches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference.symbols import call_arguments, strip_casts, written_template
from kernelprof.launch.signature import template_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

    from kernelprof.launch.inference.symbols import Frame, SourceSymbols
    from kernelprof.launch.signature import KernelSignature

TILE_NAME: Final = re.compile(r"tile|block|^bs$|^bx$|^by$|threads", re.IGNORECASE)
_USUAL_TILE, _USUAL_THREADS = "16", "256"
_INTEGER_WORDS: Final = {"unsigned", "long", "short", "int", "char", "signed"}
_QUALIFIERS: Final = {"const", "__restrict__", "restrict", "volatile"}
_CONTAINER: Final = re.compile(
    r"(?:const\s+)?(?:\w+::)*(?:\w*vector|array|span)\s*<\s*([\w:\s]+?)\s*[,>]"
)


def deduce_template(
    names: tuple[str, ...],
    call: Node,
    parameters: tuple[tuple[str, str], ...],
    caller: Frame,
) -> dict[str, str]:
    """Template arguments of a call: explicit ones, else by the types of what it passes."""
    explicit = [caller.template.get(each, each) for each in written_template(call)]
    template = dict(zip(names, explicit, strict=False))
    for name in names:
        if name in template:
            continue
        for (_, kind), value in zip(parameters, call_arguments(call), strict=False):
            declared = _declared_type(value, caller) if name in _words_of_type(kind) else None
            if declared is not None:
                plain = _plain_type(declared)
                template[name] = caller.template.get(plain, plain)
                break
    return template


def _declared_type(value: Node, frame: Frame) -> str | None:
    """The type of a variable, or of the elements of a container: ``v.data()``, ``&v[0]``."""
    inner = strip_casts(value)
    is_subscript = inner is not None and inner.type == "subscript_expression"
    if is_subscript:
        container = syntax.child(inner, "argument")
    else:
        method = syntax.child(inner, "function")
        is_data = syntax.child_text(method, "field") in {"data", "begin"}
        container = syntax.child(method, "argument") if is_data else None
    if container is None:
        return frame.declared(syntax.text(inner))
    declared = frame.declared(syntax.text(container)) or ""
    element = _CONTAINER.match(declared)
    if element is not None:
        return element[1]
    return declared if is_subscript and "*" in declared and "<" not in declared else None


def _words_of_type(written: str) -> list[str]:
    return written.replace("*", " ").replace("&", " ").split()


def _plain_type(declared: str) -> str:
    words = [w for w in _words_of_type(declared) if w not in _QUALIFIERS]
    if words and words[0] not in _INTEGER_WORDS:
        return words[0]
    return " ".join(w for w in words if w in _INTEGER_WORDS)


def choose_template(
    kernel: KernelSignature,
    source: SourceSymbols,
    launches: Iterable[tuple[tuple[str, ...], str]],
    name: str | None,
    body: str,
) -> tuple[dict[str, str], str]:
    """Return the template arguments by name, and the evidence for them.

    They are those of the requested ``name``, an instantiation, a launch, or the defaults;
    ``launches`` are the arguments of each with its line. Types are never made up: they decide every
    size in bytes.
    """
    names = [each.name for each in kernel.template]
    if not names:
        return {}, ""
    defaults = {p.name: p.default for p in kernel.template if p.default is not None}
    if name is not None and "<" in name:
        return defaults | dict(zip(names, template_arguments(name), strict=False)), "as requested"
    candidates = [
        *((instance, f"instantiated on {line}") for instance, line in _instances(kernel, source)),
        *((instance, f"as launched on {line}") for instance, line in launches),
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
