"""What a kernel's launch is likely to be, from its source: one file for each kind of evidence.

``launches`` and ``allocations`` read the host's code in the same file, ``values`` works out its
numbers, ``templates`` looks for instances, ``reach`` follows the kernel's own body and says which
elements it reaches, ``threads`` what block and grid follow, ``scalars`` and ``extents`` give values
to parameters, sizes and arrays, ``meaning`` knows operations by their names. :func:`guess` says in
which order they count.

A guess is ``None`` where nothing speaks for one: a wrong guess costs more than a question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kernelprof.launch import syntax
from kernelprof.launch.elements import element_bytes
from kernelprof.launch.guess import amounts, extents
from kernelprof.launch.guess.conditions import active
from kernelprof.launch.guess.guesses import Array, Guesses
from kernelprof.launch.guess.launches import launches
from kernelprof.launch.guess.meaning import gemm_axes, meaning
from kernelprof.launch.guess.names import Source
from kernelprof.launch.guess.reach import needed, reach
from kernelprof.launch.guess.scalars import radii, scalars
from kernelprof.launch.guess.templates import chosen
from kernelprof.launch.guess.threads import block, dimensions, grid
from kernelprof.launch.guess.values import plain_number
from kernelprof.launch.guess.written_types import Element, Types, bare
from kernelprof.launch.usage import constants, usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tree_sitter import Node

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.launches import HostLaunch
    from kernelprof.launch.guess.reach import Reach
    from kernelprof.launch.signature import KernelSignature
    from kernelprof.launch.usage import Usage

_MOST_BLOCKS = 1 << 12
"""A number of blocks up to here is one that a program chooses, and not how much there is to do."""

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
    template, why = chosen(kernel, nodes, hosts, name, syntax.text(node))
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
    given = scalars(kernel, types, host, found)
    used = usage(node, known)
    numbers = {key: amounts.number(value) for key, value in known.items()} | given
    elements = {each.name: each.element for each in found.arrays.values()}
    shared = _shared_array(used, types)
    functions = {n: f for n, f in source.functions.items() if not syntax.same(f.node, node)}
    followed = reach(node, elements | shared, numbers, types, functions)
    _outputs(kernel, used, followed, found)
    _launch(kernel, used, followed, host, known, found)
    standing = dimensions("block", found.block) | dimensions("grid", found.grid)
    _shared_bytes(used, followed, standing, host, shared, found)
    radii(node, found)
    own_names = {each for amount in given.values() for each in amount.names}
    extents.lengths(followed, standing, host, found, own_names)
    extents.fills(followed, found)
    own = {each: found.values[each] for each in given if found.values[each].isidentifier()}
    meaning(kernel.name, own, found)
    _sizes(host, given, found)
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


def _outputs(kernel: KernelSignature, used: Usage, followed: Reach, found: Guesses) -> None:
    """Written arrays are outputs; so is what may be written and is not seen to be only read."""
    for parameter in kernel.parameters:
        if parameter.name not in found.arrays or parameter.const:
            continue
        reached = followed.arrays[parameter.name]
        read = reached.read or parameter.name in used.read
        written = reached.written or parameter.name in used.written
        found.arrays[parameter.name].output = written or not read


def _shared_array(used: Usage, types: Types) -> dict[str, Element]:
    """Dynamic shared memory as one more array: how much of it is reached is how much it needs."""
    if used.dynamic_shared_type is None:
        return {}
    name, written = used.dynamic_shared_type
    element = types.element(written)
    return {} if element is None else {name: element}


def _launch(
    kernel: KernelSignature,
    used: Usage,
    followed: Reach,
    host: HostLaunch | None,
    known: dict[str, int],
    found: Guesses,
) -> None:
    """Block and grid: the host's, else what the body says."""
    hosts = None if host is None else _of_host(host, found, kernel, used, known)
    if found.block is None:
        block(kernel, used, known, found)
    if found.grid is None:
        spare = [
            each.name
            for each in kernel.parameters
            if each.name in found.sizes and each.name not in followed.used
        ]
        told = grid(followed, used, found, spare, gemm_axes(kernel, used, found))
        if not told and hosts is not None and host is not None:
            found.grid = hosts
            found.why["grid"] = f"line {host.line} launches it so"


def _of_host(
    host: HostLaunch,
    found: Guesses,
    kernel: KernelSignature,
    used: Usage,
    known: dict[str, int],
) -> list[Amount] | None:
    """What a launch says: numbers of threads as they are, unless the kernel is given them, too.

    Gives its grid also where that is in numbers that nobody knows.
    """
    why = f"line {host.line} launches it so"
    fixed = {k: v for k, v in host.values.sizes.items() if v is not None}
    own = set(found.values.values())
    standing = {n: amounts.number(fixed[n]) for n in _names(host.block) if n in fixed.keys() - own}
    found.block = _read(host.block, standing)
    if found.block is not None and _names(found.block) <= fixed.keys():
        found.why["block"] = why
    else:
        unknown = [each.text for each in found.block or () if each.text not in fixed]
        found.block = None
        block(kernel, used, known, found)
        for name, threads in zip(unknown, found.block or (), strict=False):
            if name.isidentifier() and name not in own:
                standing[name] = threads
    if found.block is None:
        return None
    given = set(found.sizes) | own | {n for text in own for n in _inside(text)}
    found.grid = _read(host.grid, standing)
    whole = found.grid
    if whole is not None and _names(whole) <= fixed.keys() | given:
        found.why["grid"] = why
    else:
        found.grid = None
    return whole


def _inside(text: str) -> set[str]:
    read = amounts.read(text) if re.fullmatch(r"[\w\s()*+/,%-]+", text) else None
    return set() if read is None else read.names


def _names(dimensions: Sequence[Amount] | None) -> set[str]:
    return {name for each in dimensions or () for name in each.names}


def _read(dimensions: Sequence[Amount] | None, standing: dict[str, Amount]) -> list[Amount] | None:
    """Extents with others in the place of names; ``None`` if one of them is not known, or zero."""
    read = [amounts.read(each.text, standing) for each in dimensions or ()]
    known = [each for each in read if each is not None and each.terms]
    return known if known and len(known) == len(read) else None


def _shared_bytes(
    used: Usage,
    followed: Reach,
    standing: dict[str, Amount],
    host: HostLaunch | None,
    shared: dict[str, Element],
    found: Guesses,
) -> None:
    """Dynamic shared memory: the host's, else as much as the kernel reaches."""
    if host is not None and host.shared_bytes is not None:
        read = amounts.read(host.shared_bytes.text, standing)
        fixed = {k: amounts.number(v) for k, v in host.values.sizes.items() if v is not None}
        own = set(found.values.values()) | set(found.sizes)
        fixed = {k: v for k, v in fixed.items() if k not in own}
        whole = read and amounts.read(read.text, fixed)
        if whole is not None and whole.names <= own | set(host.values.sizes.keys() - _unsaid(host)):
            found.shared_bytes = whole
            found.why["shared_bytes"] = f"line {host.line} launches it so"
            return
    if not used.dynamic_shared:
        found.shared_bytes = amounts.number(0)
        return
    for name, element in shared.items():
        reached = followed.arrays[name]
        read_all = [amounts.read(each.text, standing) for each in reached.extents]
        whole = needed([each for each in read_all if each is not None])
        if whole is None or reached.unknown or None in read_all:
            continue
        if not any("__" in each for each in whole.names):
            found.shared_bytes = whole * amounts.number(element.bytes)
            found.why["shared_bytes"] = f"as far as the kernel reaches in {name}"


def _sizes(host: HostLaunch | None, given: dict[str, Amount], found: Guesses) -> None:
    """All sizes that something depends on, with their values."""
    named = [
        *found.sizes,
        *(name for amount in given.values() for name in sorted(amount.names)),
    ]
    own = {name for name, amount in given.items() if amount == amounts.size(name)}
    _plain_grid(found, {} if host is None else host.values.sizes)
    matters = {name for names in _extents(found) for name in names}
    for name, amount in given.items():
        program = {} if host is None else host.values.sizes
        free = amount.names - matters - own
        if amount.names and free == amount.names and all(program.get(each) for each in free):
            number = amount.value({each: program[each] or 0 for each in free})
            found.values[name] = str(_fitting_type(number, found.types[name]))
            found.why[f"value.{name}"] = "as the program passes it"
    named += sorted(matters)
    program = {} if host is None else host.values.sizes
    kept = matters | {n for text in found.values.values() for n in _inside(text)}
    wanted = [each for each in dict.fromkeys(named) if each in kept and each not in found.defines]
    checked = dict(found.check_sizes)
    extents.defaults(wanted, found, program)
    found.sizes = {name: found.sizes[name] for name in wanted}
    for name in wanted:
        if program.get(name):
            found.why.setdefault(f"sizes.{name}", "the program's")
    extents.check_sizes(found)
    found.check_sizes |= checked


def _unsaid(host: HostLaunch) -> set[str]:
    """Sizes of the host's code that it gives no value."""
    return {name for name, value in host.values.sizes.items() if value is None}


def _plain_grid(found: Guesses, program: Mapping[str, int | None]) -> None:
    """Numbers of blocks that a program names and that nothing else depends on, as they are."""
    lengths = {n for a in found.arrays.values() if a.length is not None for n in a.length.names}
    values = {n for text in found.values.values() for n in _inside(text)}
    alone = {
        name: amounts.number(size)
        for name, size in program.items()
        if size and size <= _MOST_BLOCKS and name not in lengths | values
    }
    if found.grid is not None:
        found.grid = _read(found.grid, alone) or found.grid


def _extents(found: Guesses) -> list[set[str]]:
    """The sizes in all that decides how much there is."""
    dimensions = [*(found.block or ()), *(found.grid or ()), found.shared_bytes]
    lengths = [each for a in found.arrays.values() for each in (a.length, a.limit)]
    return [each.names for each in (*dimensions, *lengths) if each is not None]


def _fitting_type(number: int, type_name: str) -> int:
    """A number as a type of whole numbers has it: C cuts off bits that it has no room for."""
    bits = 8 * element_bytes(type_name)
    number %= 1 << bits
    signed = not type_name.startswith("u") and type_name != "bool"
    return number - (1 << bits) if signed and number >> (bits - 1) else number
