"""Sizes with their values, shapes of arrays and what is in them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.launch.elements import is_floating
from kernelprof.launch.expressions import ExpressionError
from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.allocations import below, length
from kernelprof.launch.guess.reach import needed
from kernelprof.launch.resolved import MAX_GRID, PLAIN_SHARED_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.launch.guess.accesses import Reached
    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.evidence import Evidence
    from kernelprof.launch.guess.guesses import Guesses
    from kernelprof.launch.guess.launches import HostLaunch
    from kernelprof.launch.guess.reach import Reach

ONE_DIMENSION: Final = 1 << 24
TWO_DIMENSIONS: Final = 4096
OF_MANY: Final = 256
CHECK_ONE_DIMENSION: Final = 1 << 16
CHECK_MATRIX: Final = (256, 384, 128)
"""Sizes of the comparison differ, so that a mixed-up pair of them is seen."""
AS_REACHED: Final = "as far as the kernel reaches"
"""What speaks for a length that follows from the kernel's body."""
_LEAST: Final = 4
STRUCTURAL: Final = 64
"""Up to here a number is more likely a part of the problem than how much of it there is."""
_REPEATED: Final = 16
"""Of a size that decides about no array and no grid, such as a number of turns."""
_MOST_BYTES: Final = 1 << 31
MOST_CHECKED: Final = 1 << 17
"""Elements of an array at the check sizes, and threads: a second without a GPU."""
_ENTRIES: Final = 16
"""Entries of a row of a sparse matrix, where nothing says how many there are."""
_ROWS: Final = 1 << 20
_BINS: Final = 256
_TIMES_CHECKED: Final = 16
"""How much larger than at its check a size is of a kernel that takes long at that already."""


def lengths(evidence: Evidence, standing: Mapping[str, Amount], found: Guesses) -> None:
    """How long each array is: as the kernel reaches, or as the host allocates it.

    Of what is allocated by other sizes than the kernel is given it may see a part.
    """
    reach, launch, passed = evidence.reach, evidence.host, evidence.passed
    nnz = _offsets(reach, standing, launch, found)
    hosts = (
        {
            name: length(
                launch.arguments.get(name), launch.frame, launch.values, each.element.bytes
            )
            for name, each in found.arrays.items()
        }
        if launch is not None
        else {}
    )
    for name, array in found.arrays.items():
        reached = reach.arrays[name]
        own = _resolved(reached, {**standing, **nnz})
        host = hosts.get(name)
        known = own is not None and not _open(own)
        if known and host is not None and passed and not host.names <= passed:
            host = None
        if host is not None:
            array.length, array.why = host, f"as it is allocated for {_place(launch)}"
        elif known:
            array.length, array.why = own, AS_REACHED
    _indices(reach, {**standing, **nnz}, launch, found)


def _place(launch: HostLaunch | None) -> str:
    return "" if launch is None else launch.place


def _resolved(reached: Reached, standing: Mapping[str, Amount]) -> Amount | None:
    if reached.unknown or not reached.extents:
        return None
    read = [amounts.read(each.text, standing) for each in reached.extents]
    known = [each for each in read if each is not None]
    return needed(known) if len(known) == len(read) else None


def _open(amount: Amount) -> bool:
    return any(name.startswith(("loaded__", "block__", "grid__")) for name in amount.names)


def _offsets(
    reach: Reach, standing: Mapping[str, Amount], launch: HostLaunch | None, found: Guesses
) -> dict[str, Amount]:
    """Arrays of offsets: their last value is how many entries there are in all."""
    known: dict[str, Amount] = {}
    for name in sorted(reach.offsets):
        own = _resolved(reach.arrays[name], standing)
        if own is None or name not in found.arrays:
            continue
        entries = None
        for other, reached in reach.arrays.items():  # allocated arrays that they point into
            if launch is None or other == name:
                continue
            if any(f"loaded__{name}" in each.names for each in reached.extents):
                array = found.arrays[other]
                entries = entries or length(
                    launch.arguments.get(other), launch.frame, launch.values, array.element.bytes
                )
        if entries is None:
            spare = [s for s in found.sizes if s.lower() in {"nnz", "nonzeros", "num_nonzeros"}]
            entries = amounts.size(spare[0]) if spare else None
        why = "entries of all rows"
        if entries is None:
            entries = amounts.number(_ENTRIES) * (own - amounts.number(1))
            why = f"{_ENTRIES} entries between two offsets"
        array = found.arrays[name]
        array.fill, array.limit = "offsets", entries
        array.why_fill = f"a loop runs from one of them to the next; {why}"
        known[f"loaded__{name}"] = entries + amounts.number(1)
    return known


def _indices(
    reach: Reach, standing: Mapping[str, Amount], launch: HostLaunch | None, found: Guesses
) -> None:
    """Arrays of whole numbers that say where in another one something is."""
    for name, array in found.arrays.items():
        atom = f"loaded__{name}"
        targets = [
            (other, reached)
            for other, reached in reach.arrays.items()
            if name not in reach.offsets
            and any(atom in each.names for each in reached.extents)
            and other in found.arrays
        ]
        if not targets or array.output:
            continue
        limit, why = _limit(name, targets, standing, launch, found)
        if limit is None:
            continue
        array.limit = limit
        array.fill = "random"
        into = ", ".join(other for other, _ in targets)
        array.why_fill = f"indices into {into}{why}"
        scattered = any(reached.scattered and not reached.atomic for _, reached in targets)
        if scattered and array.length == limit:
            array.fill, array.limit = "permutation", None
            array.why_fill = f"places in {into} that are written once each"
        for other, reached in targets:
            own = _resolved(reached, {**standing, atom: limit})
            target = found.arrays[other]
            if target.length is None and own is not None and not _open(own):
                target.length, target.why = own, f"{name} holds indices into it{why}"


def _limit(  # noqa: PLR0911
    name: str,
    targets: list[tuple[str, Reached]],
    standing: Mapping[str, Amount],
    launch: HostLaunch | None,
    found: Guesses,
) -> tuple[Amount | None, str]:
    """What indices stay below, and what speaks for it."""
    if launch is not None:
        given = below(launch.arguments.get(name), launch.frame, launch.values)
        if given is not None:
            return given, ", as the host draws them"
    atom = f"loaded__{name}"
    for other, reached in targets:
        whole = found.arrays[other].length
        highest = _resolved(reached, standing)
        if whole is None or highest is None:
            continue
        factor = _factor(highest, atom)
        limit = None if factor is None else amounts.divided(whole, factor)
        if limit is not None:
            return limit, ""
    for _, reached in targets:
        plain = [e for e in reached.extents if not any(n.startswith("loaded__") for n in e.names)]
        highest = _resolved(replace(reached, extents=plain), standing)
        if highest is not None and highest.names:
            return highest, ", which the kernel reaches as far itself"
    used = {n for a in found.arrays.values() if a.length is not None for n in a.length.names}
    spare = [each for each in found.sizes if each not in used and found.sizes[each]]
    if spare:
        return amounts.size(spare[0]), f", of which {spare[0]} says how many there are"
    written = [found.arrays[n].length for n, r in targets if r.written and r.atomic]
    if written or any(r.atomic for _, r in targets):
        if found.arrays[name].element.bytes == 1:
            return amounts.number(_BINS), ", any byte"
        found.sizes.setdefault("bins", _BINS)
        return amounts.size("bins"), ", of which nothing says how many there are"
    known = [a.length for a in found.arrays.values() if a.output and a.length is not None]
    if known:
        return _rows(known[0], atom, targets), ", taken to be as many as there are results"
    own = found.arrays[name].length
    return own, ", taken to be as many as there are indices"


def _rows(results: Amount, atom: str, targets: Sequence[tuple[str, Reached]]) -> Amount:
    """How many there are of what an index stands for: rows, where neighbours are a row apart."""
    for _, reached in targets:
        for extent in reached.extents:
            step = _factor(extent, atom)
            rows = None if step is None else amounts.divided(results, step)
            if rows is not None and rows.names:
                return rows
    return results


def _factor(highest: Amount, atom: str) -> Amount | None:
    """How far apart two neighbours of an index are: the factor of its name."""
    step = amounts.read(highest.text, {atom: amounts.number(2)})
    less = amounts.read(highest.text, {atom: amounts.number(1)})
    if step is None or less is None or not (step - less).terms:
        return None
    return step - less


def fills(reach: Reach, found: Guesses) -> None:
    """What is in arrays that the kernel reads."""
    for name, array in found.arrays.items():
        if array.fill is not None:
            continue
        reached = reach.arrays[name]
        if array.element.mixed:
            array.fill = "zeros"
            array.why_fill = "structures of different types, zero throughout"
        elif array.output and reached.read:
            array.fill = "random" if is_floating(array.element.type) else "zeros"
            array.why_fill = "read as well as written"
        elif not array.output:
            array.fill = "random"


def defaults(names: Iterable[str], found: Guesses, given: Mapping[str, int | None]) -> None:
    """A value for each size: the program's, else a usual one for so many sizes."""
    wanted = list(names)
    asked = [name for name in wanted if not given.get(name) and not found.sizes.get(name)]
    in_arrays = {
        n for a in found.arrays.values() if a.length is not None for n in a.length.names
    } | {n for each in found.grid or () for n in each.names}
    extents = [name for name in asked if name in in_arrays]
    usual = TWO_DIMENSIONS if _most_dimensions(extents, found) <= 2 else OF_MANY
    if len(extents) == 1 and len(wanted) == 1 and extents[0].lower() != "k":
        usual = ONE_DIMENSION
    # Of a sparse matrix, whose rows have several entries each.
    long = _ROWS if any(each.fill == "offsets" for each in found.arrays.values()) else ONE_DIMENSION
    for name in wanted:
        value = given.get(name)
        if value:
            found.sizes[name] = value
        elif found.sizes.get(name):
            continue
        elif name in in_arrays or not found.arrays:
            found.sizes[name] = long if _is_alone(name, found) else min(usual, long)
        else:
            found.sizes[name] = _REPEATED
            found.why[f"sizes.{name}"] = "decides about no array and no grid: any number will do"
    found.free = [n for n in extents if n in found.sizes]
    within_memory(found)


def _most_dimensions(names: Sequence[str], found: Guesses) -> int:
    """The most sizes of these that one length is a product of, or all where lengths are open."""
    lengths = [a.length for a in found.arrays.values()]
    if any(each is None for each in lengths):
        return len(names)
    return max((len(each.names & set(names)) for each in lengths if each is not None), default=0)


def _is_alone(name: str, found: Guesses) -> bool:
    """Whether a size is how long arrays are by itself: no length is a product with another one."""
    lengths = [a.length for a in found.arrays.values() if a.length is not None]
    blocks = [each.text for each in found.grid or ()]
    own = [each for each in lengths if name in each.names]
    plain = all(each.names == {name} and (name,) in dict(each.terms) for each in own)
    return bool(own) and plain and name not in blocks and name.lower() != "k"


def within_memory(found: Guesses, static: int = 0) -> None:
    """Smaller sizes, where nothing says which, until all arrays have room.

    Shared memory has as much as any block gets, beside its ``static`` bytes.
    """
    free, sizes, shared = found.free, found.sizes, found.shared_bytes
    while free and (_bytes(found, sizes) > _MOST_BYTES or _too_wide(found)):
        name = max(free, key=lambda each: sizes[each])
        if sizes[name] <= OF_MANY // 4:
            break
        sizes[name] //= 2
    within = [name for name in free if shared is not None and name in shared.names]
    while within and _value(shared, sizes) > PLAIN_SHARED_BYTES - static:
        name = max(within, key=lambda each: sizes[each])
        if sizes[name] <= _LEAST:
            break
        sizes[name] //= 2
        found.why[f"sizes.{name}"] = "a block has shared memory for as many"
        if name in found.check_sizes:
            found.check_sizes[name] = min(found.check_sizes[name], sizes[name])


def lessen(found: Guesses) -> None:
    """Smaller sizes where nothing says which, and the work grows faster than they do."""
    for name in found.free:
        most = _TIMES_CHECKED * found.check_sizes.get(name, found.sizes[name])
        found.sizes[name] = min(found.sizes[name], most)


def _too_wide(found: Guesses) -> bool:
    """Whether the grid has more blocks along y or z than a GPU takes."""
    extents = zip(found.grid or (), MAX_GRID, strict=False)
    return any(_value(each, found.sizes) > most for each, most in extents)


def _bytes(found: Guesses, sizes: Mapping[str, int]) -> int:
    return sum(
        each.element.bytes * _value(each.length, sizes)
        for each in found.arrays.values()
        if each.length is not None
    )


def _value(amount: Amount | None, sizes: Mapping[str, int]) -> int:
    try:
        return 0 if amount is None else amount.value(sizes)
    except ExpressionError:
        return 0


def check_sizes(found: Guesses) -> None:
    """Smaller sizes for the comparison, of as many factors of two as the large ones have."""
    fixed = {n for each in found.block or () for n in each.names}
    large = [
        name for name, value in found.sizes.items() if value > STRUCTURAL and name not in fixed
    ]
    checked = dict(found.sizes)
    for index, name in enumerate(large):
        wanted = CHECK_ONE_DIMENSION if len(large) == 1 else CHECK_MATRIX[index % 3]
        checked[name] = min(found.sizes[name], wanted)
    for name in large:
        while not all_there(found, checked) and checked[name] < found.sizes[name]:
            checked[name] = min(2 * checked[name], found.sizes[name])
    found.check_sizes = {name: checked[name] for name in found.sizes}
    while _work(found, found.check_sizes) > MOST_CHECKED and smaller_check(found, worth=True):
        pass


def smaller_check(found: Guesses, *, worth: bool = False) -> bool:
    """Take half of the largest check size that can be halved; whether there was one.

    With ``worth`` of one that shortens the longest array, or lessens the threads.
    """
    fixed = {n for each in found.block or () for n in each.names}
    checked = found.check_sizes
    free = [each for each in checked if each not in fixed]  # in their order, not that of a set
    for name in sorted(free, key=lambda each: -checked[each]):
        half = {**checked, name: checked[name] // 2}
        shorter = not worth or _work(found, half) < _work(found, checked)
        if checked[name] > _LEAST and shorter and all_there(found, half):
            found.check_sizes = half
            return True
    return False


def all_there(found: Guesses, sizes: Mapping[str, int]) -> bool:
    """Whether each extent is one at least."""
    amounts_ = [*(found.grid or ()), *(a.length for a in found.arrays.values())]
    return all(each is None or _value(each, sizes) >= 1 for each in amounts_)


def _work(found: Guesses, sizes: Mapping[str, int]) -> int:
    """The longest array, or the threads, if those are more."""
    threads = math.prod(
        max(1, _value(each, sizes)) for each in (*(found.grid or ()), *(found.block or ()))
    )
    longest = [_value(each.length, sizes) for each in found.arrays.values()]
    return max([threads, *longest], default=0)
