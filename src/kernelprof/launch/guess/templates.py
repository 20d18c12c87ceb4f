"""A template's arguments: as they were asked for, instantiated, launched, or by default."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.signature import template_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.launch.guess.launches import HostLaunch
    from kernelprof.launch.guess.names import Source
    from kernelprof.launch.signature import KernelSignature

TILE_NAME: Final = re.compile(r"tile|block|^bs$|^bx$|^by$|threads", re.IGNORECASE)
_TILE: Final = "16"
_THREADS: Final = "256"


def chosen(
    kernel: KernelSignature,
    source: Source,
    launches: Sequence[HostLaunch],
    name: str | None,
    body: str,
) -> tuple[dict[str, str], str]:
    """The arguments by name, as far as they are known, and what speaks for them.

    Types are never made up: they decide about every size in bytes.
    """
    names = [each.name for each in kernel.template]
    if not names:
        return {}, ""
    defaults = {p.name: p.default for p in kernel.template if p.default is not None}
    if name is not None and "<" in name:
        return defaults | dict(zip(names, template_arguments(name), strict=False)), "as asked for"
    for arguments, place in _instances(kernel, source):
        found = defaults | dict(zip(names, arguments, strict=False))
        if len(found) == len(names):
            return found, f"{place} instantiates it"
    for launch in launches:
        found = defaults | dict(zip(names, launch.template, strict=False))
        if len(found) == len(names):
            return found, f"{launch.place} launches it so"
    found = dict(defaults)
    whole = {"int", "unsigned", "size_t", "unsigned int"}
    for each in kernel.template:
        if each.name not in found and each.kind in whole and TILE_NAME.search(each.name):
            threads = re.search("thread|block_?size|block_?dim", each.name, re.IGNORECASE)
            found[each.name] = _THREADS if threads and "threadIdx.y" not in body else _TILE
    return found, "a usual tile" if len(found) > len(defaults) else "the template's default"


def _instances(kernel: KernelSignature, source: Source) -> list[tuple[tuple[str, ...], str]]:
    """Explicit instantiations in the file: ``template __global__ void f<float>(...);``."""
    plain = kernel.name.rpartition("::")[2]
    pattern = re.compile(rf"\b{re.escape(plain)}\s*<")
    found = []
    for node in source.nodes["template_instantiation"]:
        text = syntax.text(node)
        if (at := pattern.search(text)) is not None:
            arguments = template_arguments(text[at.start() :])
            found.append((arguments, source.place(node)))
    return found
