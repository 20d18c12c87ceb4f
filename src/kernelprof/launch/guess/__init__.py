"""What a kernel's launch is likely to be, from its source: one file for each kind of evidence.

``launches`` and ``allocations`` read the host's code in the same file, ``values`` works out its
numbers, ``templates`` looks for instances, ``reach`` and ``accesses`` follow the kernel's own body
and say which elements it reaches, ``threads`` what block and grid follow. Of this ``Evidence``
``configuration``, ``scalars``, ``extents`` and ``sizes`` make a launch, parameters and arrays, and
``meaning`` knows operations by their names. :func:`guess` says in which order they count.

A guess is ``None`` where nothing speaks for one: a wrong guess costs more than a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.launch import syntax
from kernelprof.launch.guess import amounts, extents
from kernelprof.launch.guess.arithmetic import plain_number
from kernelprof.launch.guess.conditions import active
from kernelprof.launch.guess.configuration import configuration, shared_bytes
from kernelprof.launch.guess.evidence import Evidence
from kernelprof.launch.guess.guesses import Array, Guesses
from kernelprof.launch.guess.launches import launches
from kernelprof.launch.guess.meaning import meaning
from kernelprof.launch.guess.names import Source
from kernelprof.launch.guess.reach import reach
from kernelprof.launch.guess.scalars import radii, scalars, windows
from kernelprof.launch.guess.sizes import sizes
from kernelprof.launch.guess.structures import structures
from kernelprof.launch.guess.templates import chosen
from kernelprof.launch.guess.threads import dimensions
from kernelprof.launch.guess.uneven import guarded
from kernelprof.launch.guess.written_types import Element, Types, bare
from kernelprof.launch.usage import constants, usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from kernelprof.launch.guess.launches import HostLaunch
    from kernelprof.launch.signature import KernelSignature
    from kernelprof.launch.usage import Usage

__all__ = ["Guesses", "guess"]


def guess(
    kernel: KernelSignature, node: Node, roots: Sequence[Node], name: str | None = None
) -> Guesses:
    """Guess the launch of one kernel; ``name`` may have arguments for its template.

    ``node`` is the kernel's definition, ``roots`` are the trees of its file and of those that this
    includes.
    """
    nodes = list(active(roots))
    types = Types(nodes)
    source = Source(nodes, types)
    hosts = launches(kernel, source)
    template, why = chosen(kernel, source, hosts, name, syntax.text(node))
    found = Guesses(kernel=_named(kernel, template))
    found.why["kernel"] = why
    types = types.with_chosen(template)
    host = _fitting(hosts, template, kernel)
    known = constants(nodes)
    for key, text in template.items():
        value = plain_number(text)
        if value is not None and value.constant is not None:
            known[key] = value.constant
    _arrays(kernel, types, found)
    given = scalars(kernel, types, host, found) | structures(kernel, types, found)
    used = usage(node, known)
    numbers = {key: amounts.number(value) for key, value in known.items()} | given
    shared = _shared_array(used, types)
    functions = {n: f for n, f in source.functions.items() if not syntax.same(f.node, node)}
    elements = {each.name: each.element for each in found.arrays.values()} | shared
    aliases = {each.name: each.alias for each in found.arrays.values() if each.alias}
    followed = reach(node, elements, numbers, types, functions, aliases=aliases)
    evidence = Evidence(kernel, used, followed, host, known, given, shared)
    _outputs(evidence, found)
    configuration(evidence, found)
    found.guarded = guarded(followed.bounds)
    standing = dimensions("block", found.block) | dimensions("grid", found.grid)
    shared_bytes(evidence, standing, found)
    radii(node, found)
    windows(found)
    extents.lengths(evidence, standing, found)
    extents.fills(followed, found)
    own = {
        each.rpartition(".")[2]: found.values[each]
        for each in given
        if found.values[each].isidentifier()
    }
    meaning(kernel.name, own, found)
    sizes(evidence, found)
    return found


def _named(kernel: KernelSignature, template: dict[str, str]) -> str | None:
    """The kernel's name with its template's arguments; ``None`` if one of them is not known."""
    if not kernel.template:
        return kernel.name
    if any(each.name not in template for each in kernel.template):
        return None
    return f"{kernel.name}<{', '.join(template[each.name] for each in kernel.template)}>"


def _fitting(
    hosts: list[HostLaunch], template: dict[str, str], kernel: KernelSignature
) -> HostLaunch | None:
    """The launch of just this instance, else of any."""
    wanted = tuple(template.get(each.name, "") for each in kernel.template)
    same = [each for each in hosts if each.template == wanted[: len(each.template)]]
    return next(iter(same or hosts), None)


def _arrays(kernel: KernelSignature, types: Types, found: Guesses) -> None:
    for parameter in kernel.parameters:
        element = types.element(parameter.written[: parameter.written.rfind(parameter.name)])
        if element is None and _is_template_type(parameter.written, kernel):
            element = Element("")  # its bytes are not known, and its length in elements is
        if parameter.pointer and element is not None and parameter.written.count("*") <= 1:
            found.arrays[parameter.name] = Array(parameter.name, element)


def _is_template_type(written: str, kernel: KernelSignature) -> bool:
    return bare(written).split(" ")[0] in {each.name for each in kernel.template}


def _outputs(evidence: Evidence, found: Guesses) -> None:
    """Written arrays are outputs; so is what may be written and is not seen to be only read."""
    kernel, used, followed = evidence.kernel, evidence.used, evidence.reach
    for parameter in kernel.parameters:
        if parameter.name not in found.arrays or parameter.const:
            continue
        reached = followed.arrays[parameter.name]
        read = reached.read or parameter.name in used.read
        written = reached.written or parameter.name in used.written
        found.arrays[parameter.name].output = written or not read
    for name, array in found.arrays.items():
        if array.alias and not array.const:
            array.output = followed.arrays[name].written or not followed.arrays[name].read


def _shared_array(used: Usage, types: Types) -> dict[str, Element]:
    """Dynamic shared memory as one more array: how much of it is reached is how much it needs."""
    if used.dynamic_shared_type is None:
        return {}
    name, written = used.dynamic_shared_type
    element = types.element(written)
    return {} if element is None else {name: element}
