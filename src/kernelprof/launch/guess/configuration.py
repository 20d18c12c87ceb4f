"""Grid, block and dynamic shared memory: as the host launches, else as the kernel's body says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.meaning import gemm_axes
from kernelprof.launch.guess.reach import needed
from kernelprof.launch.guess.threads import block, grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.evidence import Evidence
    from kernelprof.launch.guess.guesses import Guesses
    from kernelprof.launch.guess.launches import HostLaunch


def configuration(evidence: Evidence, found: Guesses) -> None:
    """Block and grid."""
    kernel, used, reach, host = evidence.kernel, evidence.used, evidence.reach, evidence.host
    whole = None if host is None else _of_host(host, evidence, found)
    if found.block is None:
        block(kernel, used, evidence.constants, found)
    if found.grid is None:
        parameters = [each.name for each in kernel.parameters]
        spare = [name for name in parameters if name in found.sizes and name not in reach.used]
        told = grid(reach, used, found, spare, gemm_axes(kernel, used, found))
        if not told and whole is not None and host is not None:
            found.grid = whole
            found.why["grid"] = _line(host)


def _of_host(host: HostLaunch, evidence: Evidence, found: Guesses) -> list[Amount] | None:
    """What a launch says: numbers of threads as they are, unless the kernel is given them, too.

    Gives its grid also where that is in numbers that nobody knows.
    """
    fixed = evidence.known_sizes
    own = set(found.values.values())
    standing = {n: amounts.number(fixed[n]) for n in _names(host.block) if n in fixed.keys() - own}
    found.block = read_all(host.block, standing)
    if found.block is not None and _names(found.block) <= fixed.keys():
        found.why["block"] = _line(host)
    else:
        unknown = [each.text for each in found.block or () if each.text not in fixed]
        found.block = None
        block(evidence.kernel, evidence.used, evidence.constants, found)
        threads: list[Amount] = found.block or []
        pairs = zip(unknown, threads, strict=False)
        standing |= {name: n for name, n in pairs if name.isidentifier() and name not in own}
    if found.block is None:
        return None
    whole = read_all(host.grid, standing)
    if whole is not None and _names(whole) <= fixed.keys() | set(found.sizes) | evidence.passed:
        found.grid = whole
        found.why["grid"] = _line(host)
    return whole


def _line(host: HostLaunch) -> str:
    return f"{host.place} launches it so"


def _names(dimensions: Sequence[Amount] | None) -> set[str]:
    return {name for each in dimensions or () for name in each.names}


def read_all(
    dimensions: Sequence[Amount] | None, standing: Mapping[str, Amount]
) -> list[Amount] | None:
    """Extents with others in the place of names; ``None`` if one of them is not known, or zero."""
    read = [amounts.read(each.text, standing) for each in dimensions or ()]
    known = [each for each in read if each is not None and each.terms]
    return known if known and len(known) == len(read) else None


def shared_bytes(evidence: Evidence, standing: Mapping[str, Amount], found: Guesses) -> None:
    """Dynamic shared memory: the host's, else as much as the kernel reaches."""
    host = evidence.host
    if host is not None and host.shared_bytes is not None:
        whole = _shared_of_host(host.shared_bytes, evidence, standing)
        if whole is not None:
            found.shared_bytes = whole
            found.why["shared_bytes"] = _line(host)
            return
    if not evidence.used.dynamic_shared and host is None:
        found.shared_bytes = amounts.number(0)
        return
    for name, element in evidence.shared.items():
        reached = evidence.reach.arrays[name]
        read = [amounts.read(each.text, standing) for each in reached.extents]
        whole = needed([each for each in read if each is not None])
        if whole is None or reached.unknown or None in read:
            continue
        if not any("__" in each for each in whole.names):
            found.shared_bytes = whole * amounts.number(element.bytes)
            found.why["shared_bytes"] = f"as far as the kernel reaches in {name}"


def _shared_of_host(
    given: Amount, evidence: Evidence, standing: Mapping[str, Amount]
) -> Amount | None:
    """What a launch gives, with the numbers of the program that the kernel does not get."""
    fixed, own = evidence.known_sizes, evidence.passed
    numbers = {name: amounts.number(size) for name, size in fixed.items() if name not in own}
    whole = amounts.read(given.text, {**numbers, **standing})
    return whole if whole is not None and whole.names <= own | fixed.keys() else None
