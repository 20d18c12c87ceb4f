"""Which of the kernels of a file is meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.signature import choose
from kernelprof.model.kernel_name import name_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from kernelprof.launch.signature import KernelSignature

_PREPARES: Final = re.compile(
    "(k_|kernel_|cuda_?|gpu_?)?(init|fill|set(?![a-z])|generate|rand|zero|clear|reset|warm|dummy"
    "|check|verify|validate|compare|print)",
    re.IGNORECASE,
)
"""What a file does beside what it is about."""
_BY_ADDRESS: Final = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")


def chosen(
    found: Sequence[KernelSignature], name: str | None, where: str, root: Node
) -> KernelSignature:
    """The kernel of a name, or the one whose name a regular expression matches.

    Without a name the only one, or the only one that the file launches beside those that prepare
    or check data by their names.
    """
    defined = [each for each in found if each.defined] or list(found)
    if name is None:
        launched = _launched(root)
        here = [each for each in defined if _plain(each.name) in launched]
        if len(here) > 1:
            here = [each for each in here if not _PREPARES.match(_plain(each.name))] or here
        return choose(here if len(here) == 1 else defined, None, where)
    plain = name.split("<")[0].strip()
    if not any(plain in (each.name, _plain(each.name)) for each in found):
        pattern = name_pattern(name)
        matching = [each for each in defined if pattern.search(each.name)]
        if len(matching) == 1:
            return matching[0]
    return choose(found, name, where)


def _plain(name: str) -> str:
    return name.rpartition("::")[2]


def _launched(root: Node) -> set[str]:
    """The names of what is launched in a file, without namespaces and template arguments."""
    found = set()
    for node in syntax.walk(root):
        if node.type != "call_expression":
            continue
        called = syntax.text(syntax.child(node, "function"))
        if any(each.type == "kernel_call_syntax" for each in node.children):
            found.add(_plain(called.partition("<")[0]))
        elif called in _BY_ADDRESS:
            given = syntax.child(node, "arguments")
            first = next(iter(given.named_children), None) if given is not None else None
            words = syntax.text(first).replace("(void*)", "").replace("(const void*)", "")
            found.add(_plain(words.strip("&() ").partition("<")[0]))
    return found
