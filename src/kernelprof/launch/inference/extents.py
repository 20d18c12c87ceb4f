"""Sizes and their values, array shapes, and fills; smaller and uneven sizes for the check."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.amounts import read_all
from kernelprof.launch.inference.reach import largest_extent
from kernelprof.launch.specification.elements import element_bytes, is_floating
from kernelprof.launch.specification.expressions import ExpressionError
from kernelprof.launch.specification.spec import MAX_GRID, PLAIN_SHARED_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.evidence import GuessedArray, Guesses, LaunchEvidence
    from kernelprof.launch.inference.reach import ArrayAccesses, IndexBound, Reach


ONE_DIMENSION: Final = 1 << 24
TWO_DIMENSIONS: Final = 4096
OF_MANY: Final = 256
CHECK_ONE_DIMENSION: Final = 1 << 16
CHECK_MATRIX: Final = (256, 384, 128)
"""Sizes of the comparison differ, so that a mixed-up pair of them is seen."""
AS_REACHED: Final = "the extent that the kernel accesses"
_LEAST: Final = 4
STRUCTURAL: Final = 64
"""Up to here a number is more likely a part of the problem than how much of it there is."""
_REPEATED: Final = 16
"""Of a size that decides about no array and no grid, such as a number of iterations."""
_MOST_BYTES: Final = 1 << 31
MOST_CHECKED: Final = 1 << 17
"""Elements of an array at the check sizes, and threads: a second without a GPU."""
_ENTRY_NAMES: Final = {"nnz", "nonzeros", "num_nonzeros"}
_ENTRIES: Final = 16
"""Entries of a row of a sparse matrix, where nothing says how many there are."""
_ROWS: Final = 1 << 20
_BINS: Final = 256
_FEW_BLOCKS: Final = 264
"""Two for each SM of an H100."""
_TIMES_CHECKED: Final = 16
"""How much larger than at its check a size is of a kernel that takes long at that already."""
_MOST_BLOCKS: Final = 1 << 12
"""A number of blocks up to here is one that a program chooses, and not how much there is to do."""
_MULTIPLE: Final = 32
"""A size that this does not divide is uneven already: blocks are made of whole warps."""
_LONG: Final = 1 << 10
_LESS: Final = (15, 12), (5, 4)
"""What is taken off long and short sizes: first an odd number, then one for threads with four."""
WHY_UNEVEN: Final = "not multiples of the block size, to expose a missing bounds check"


class LengthInference:
    """Infers array lengths: as far as the kernel accesses them, or as the host allocates them.

    An allocation by sizes that the kernel is not passed may be larger than what it accesses.
    ``atoms`` are the values of ``block__x`` and ``loaded__A`` (see ``reach``).
    """

    def __init__(
        self, evidence: LaunchEvidence, atoms: Mapping[str, SizeExpr], guesses: Guesses
    ) -> None:
        self.reach, self.launch, self.passed = evidence.reach, evidence.host, evidence.passed
        self.guesses = guesses
        self.atoms = dict(atoms)

    def infer(self) -> None:
        """Infer lengths, and fills of arrays that hold offsets or indices."""
        entries = [self._offsets(name) for name in sorted(self.reach.offsets)]
        for each in entries:
            self.atoms |= each
        for name, array in self.guesses.arrays.items():
            own, host = self._resolve(self.reach.arrays[name]), self._allocated_length(name)
            is_known = own is not None and not own.has_atoms and not own.too_long
            if is_known and host is not None and self.passed and not host.names <= self.passed:
                host = None
            if host is not None and self.launch is not None:
                array.length, array.why = host, f"as allocated for the launch on {self.launch.line}"
            elif is_known:
                array.length, array.why = own, AS_REACHED
        for name, array in self.guesses.arrays.items():
            if not array.output and name not in self.reach.offsets:
                self._indices(name, array)

    def _allocated_length(self, name: str) -> SizeExpr | None:
        if self.launch is None:
            return None
        return self.launch.allocated_length(name, self.guesses.arrays[name].element.bytes)

    def _resolve(self, accesses: ArrayAccesses, **atoms: SizeExpr) -> SizeExpr | None:
        if accesses.unknown:
            return None
        values = self.atoms | atoms
        return largest_extent([each.substitute(values) for each in accesses.extents])

    def _offsets(self, name: str) -> dict[str, SizeExpr]:
        """Arrays of offsets: the last value is the number of all entries."""
        own = self._resolve(self.reach.arrays[name])
        if own is None or name not in self.guesses.arrays:
            return {}
        atom, entries = f"loaded__{name}", None
        for other, accesses in self.reach.arrays.items():  # allocated arrays that they point into
            if other != name and any(atom in each.names for each in accesses.extents):
                entries = entries or self._allocated_length(other)
        if entries is None:
            sizes = [each for each in self.guesses.sizes if each.lower() in _ENTRY_NAMES]
            entries = amounts.parse_size(sizes[0]) if sizes else None
        why = "limit: total number of entries"
        if entries is None:
            entries = amounts.constant_size(_ENTRIES) * (own - amounts.constant_size(1))
            why = f"limit: on average, {_ENTRIES} entries between consecutive offsets"
        array = self.guesses.arrays[name]
        array.fill, array.limit = "offsets", entries
        array.why_fill = f"a loop runs from one offset to the next; {why}"
        return {atom: entries + amounts.constant_size(1)}

    def _indices(self, name: str, array: GuessedArray) -> None:
        """Arrays of integers that are indices into other arrays."""
        atom = f"loaded__{name}"
        targets = [
            (other, accesses)
            for other, accesses in self.reach.arrays.items()
            if any(atom in each.names for each in accesses.extents) and other in self.guesses.arrays
        ]
        limit, why = self._limit(name, targets) if targets else (None, "")
        if limit is None:
            return
        into = ", ".join(other for other, _ in targets)
        array.fill, array.limit = "random", limit
        array.why_fill = f"indices into {into}{why}"
        scattered = any(accesses.scattered and not accesses.atomic for _, accesses in targets)
        if scattered and array.length == limit:
            array.fill, array.limit = "permutation", None
            array.why_fill = f"indices into {into}, each used once"
        for other, accesses in targets:
            own = self._resolve(accesses, **{atom: limit})
            target = self.guesses.arrays[other]
            if target.length is None and own is not None and not own.has_atoms:
                target.length, target.why = own, f"{name} indexes this array{why}"

    def _limit(  # noqa: PLR0911
        self, name: str, targets: list[tuple[str, ArrayAccesses]]
    ) -> tuple[SizeExpr | None, str]:
        """An upper bound of indices, and the evidence for it."""
        guesses, atom = self.guesses, f"loaded__{name}"
        if self.launch is not None and (bound := self.launch.random_bound(name)) is not None:
            return bound, ", in the range of the host's random numbers"
        for other, accesses in targets:
            whole, highest = guesses.arrays[other].length, self._resolve(accesses)
            if whole is None or highest is None:
                continue
            factor = _factor(highest, atom)
            limit = None if factor is None else amounts.divide(whole, factor)
            if limit is not None:
                return limit, ""
        for _, accesses in targets:
            plain = [
                e for e in accesses.extents if not any(n.startswith("loaded__") for n in e.names)
            ]
            highest = self._resolve(replace(accesses, extents=plain))
            if highest is not None and highest.names:
                return highest, ", in the range that the kernel also accesses directly"
        in_lengths = {n for each in guesses.lengths for n in each.names}
        spare = [each for each, size in guesses.sizes.items() if size and each not in in_lengths]
        if spare:
            return amounts.parse_size(spare[0]), f", whose length is assumed to be {spare[0]}"
        if any(accesses.atomic for _, accesses in targets):
            if guesses.arrays[name].element.bytes == 1:
                return amounts.constant_size(_BINS), ", assumed to be bytes from 0 to 255"
            guesses.sizes.setdefault("bins", _BINS)
            return amounts.parse_size("bins"), ", whose length is unknown"
        results = [a.length for a in guesses.arrays.values() if a.output and a.length is not None]
        if results:
            return _rows(
                results[0], atom, targets
            ), ", whose length is assumed equal to that of the output"
        why = ", whose length is assumed equal to the number of indices"
        return guesses.arrays[name].length, why


def _rows(results: SizeExpr, atom: str, targets: Sequence[tuple[str, ArrayAccesses]]) -> SizeExpr:
    """The number of rows, where neighbouring indices are a row apart."""
    for _, accesses in targets:
        for extent in accesses.extents:
            step = _factor(extent, atom)
            rows = None if step is None else amounts.divide(results, step)
            if rows is not None and rows.names:
                return rows
    return results


def _factor(highest: SizeExpr, atom: str) -> SizeExpr | None:
    two, one = (highest.substitute({atom: amounts.constant_size(value)}) for value in (2, 1))
    step = amounts.apply_operator("-", two, one)
    return step if step is not None and step.terms else None


def infer_fills(reach: Reach, guesses: Guesses) -> None:
    """Choose fills of arrays that the kernel reads."""
    for name, array in guesses.arrays.items():
        if array.fill is not None:
            continue
        reached = reach.arrays[name]
        if array.element.mixed or (array.output and reached.read):
            initialize_array(array, "read and written")
        elif not array.output:
            array.fill = "random"


def initialize_array(array: GuessedArray, why: str) -> None:
    """Give values to an array that the kernel also writes."""
    array.fill, array.why_fill = "zeros", why
    if array.element.mixed:
        array.why_fill = "structures with members of different types, all zero"
    elif is_floating(array.element.type):
        array.fill = "random"


def choose_sizes(
    names: Iterable[str],
    guesses: Guesses,
    given: Mapping[str, int | None],
    in_addresses: Collection[str] = (),
) -> None:
    """Choose values of sizes: the program's, else usual ones for so many dimensions.

    Of what is ``in_addresses`` the length of an array may be made that is still to be found out.
    """
    wanted = list(names)
    undecided = [name for name in wanted if not given.get(name) and not guesses.sizes.get(name)]
    in_arrays = {n for each in (*guesses.lengths, *(guesses.grid or ())) for n in each.names}
    if any(each.length is None for each in guesses.arrays.values()):
        in_arrays |= {name for name in wanted if name in in_addresses}
    extents = [name for name in undecided if name in in_arrays]
    usual = TWO_DIMENSIONS if _most_dimensions(extents, guesses) <= 2 else OF_MANY
    if len(extents) == 1 and len(wanted) == 1 and extents[0].lower() != "k":
        usual = ONE_DIMENSION
    # Of a sparse matrix, whose rows have several entries each.
    is_sparse = any(each.fill == "offsets" for each in guesses.arrays.values())
    long = _ROWS if is_sparse else ONE_DIMENSION
    for name in wanted:
        value = given.get(name)
        if value:
            guesses.sizes[name] = value
        elif guesses.sizes.get(name):
            continue
        elif name in in_arrays or not guesses.arrays:
            guesses.sizes[name] = long if _is_alone(name, guesses) else min(usual, long)
        else:
            guesses.sizes[name] = _REPEATED
            guesses.why[f"sizes.{name}"] = (
                "affects neither array shapes nor the grid: any value works"
            )
    guesses.free = [n for n in extents if n in guesses.sizes]
    fit_memory(guesses)
    _fill_gpu(guesses)


def _fill_gpu(guesses: Guesses) -> None:
    """Give a grid of a few blocks more of them, at the cost of sizes that it does not depend on."""
    sizes, free = guesses.sizes, guesses.free
    blocks = guesses.grid or []
    growing = [name for name in free if any(name in each.names for each in blocks)]
    others = [name for name in free if name not in growing]
    while growing and others and math.prod(_value(each, sizes) for each in blocks) < _FEW_BLOCKS:
        shrunk = max(others, key=lambda each: sizes[each])
        grown = min(growing, key=lambda each: sizes[each])
        changed = sizes | {shrunk: sizes[shrunk] // 2, grown: 2 * sizes[grown]}
        if sizes[shrunk] <= OF_MANY // 8 or _bytes(guesses, changed) > _MOST_BYTES:
            return
        sizes |= changed


def _most_dimensions(names: Sequence[str], guesses: Guesses) -> int:
    if len(guesses.lengths) < len(guesses.arrays):
        return len(names)
    return max((len(each.names & set(names)) for each in guesses.lengths), default=0)


def _is_alone(name: str, guesses: Guesses) -> bool:
    blocks = [each.text for each in guesses.grid or ()]
    own = [each for each in guesses.lengths if name in each.names]
    plain = all(each.names == {name} and (name,) in dict(each.terms) for each in own)
    return bool(own) and plain and name not in blocks and name.lower() != "k"


def fit_memory(guesses: Guesses, static: int = 0) -> None:
    """Halve free sizes until all arrays and, beside ``static`` bytes, shared memory fit."""
    free, sizes, shared = guesses.free, guesses.sizes, guesses.shared_bytes
    while free and (_bytes(guesses, sizes) > _MOST_BYTES or _too_wide(guesses)):
        name = max(free, key=lambda each: sizes[each])
        if sizes[name] <= 2 * _LEAST:
            break
        sizes[name] //= 2
    within = [name for name in free if shared is not None and name in shared.names]
    while within and _value(shared, sizes) > PLAIN_SHARED_BYTES - static:
        name = max(within, key=lambda each: sizes[each])
        if sizes[name] <= _LEAST:
            break
        sizes[name] //= 2
        guesses.why[f"sizes.{name}"] = "limited by the shared memory of a block"
        if name in guesses.check_sizes:
            guesses.check_sizes[name] = min(guesses.check_sizes[name], sizes[name])


def reduce_sizes(guesses: Guesses) -> None:
    """Reduce free sizes of a kernel whose work grows faster than they do."""
    for name in guesses.free:
        most = _TIMES_CHECKED * guesses.check_sizes.get(name, guesses.sizes[name])
        guesses.sizes[name] = min(guesses.sizes[name], most)


def _too_wide(guesses: Guesses) -> bool:
    extents = zip(guesses.grid or (), MAX_GRID, strict=False)
    return any(_value(each, guesses.sizes) > most for each, most in extents)


def _bytes(guesses: Guesses, sizes: Mapping[str, int]) -> int:
    arrays = guesses.arrays.values()
    return sum(each.element.bytes * _value(each.length, sizes) for each in arrays)


def _value(amount: SizeExpr | None, sizes: Mapping[str, int]) -> int:
    try:
        return 0 if amount is None else amount.value(sizes)
    except ExpressionError:
        return 0


def choose_check_sizes(guesses: Guesses) -> None:
    """Choose smaller sizes for the check."""
    sizes, fixed = guesses.sizes, guesses.block_names
    large = [name for name, size in sizes.items() if size > STRUCTURAL and name not in fixed]
    checked = dict(sizes)
    for index, name in enumerate(large):
        wanted = CHECK_ONE_DIMENSION if len(large) == 1 else CHECK_MATRIX[index % 3]
        checked[name] = min(sizes[name], wanted)
    for name in large:
        while not has_positive_extents(guesses, checked) and checked[name] < sizes[name]:
            checked[name] = min(2 * checked[name], sizes[name])
    guesses.check_sizes = checked
    is_halved = True
    while is_halved and _problem_size(guesses, guesses.check_sizes) > MOST_CHECKED:
        is_halved = halve_check_size(guesses, worth=True)


def halve_check_size(guesses: Guesses, *, worth: bool = False) -> bool:
    """Halve the largest check size that can be halved; return whether there was one.

    With ``worth``, only one that shortens the longest array or reduces the threads. One that would
    no longer be a multiple of what a block works on is halved last: it may not check bounds.
    """
    checked = guesses.check_sizes
    free = [each for each in checked if each not in guesses.block_names]  # in their order

    def is_torn(name: str) -> bool:
        half = {**checked, name: checked[name] // 2}
        along = [each for each in guesses.grid or () if name in each.names]
        return any(2 * _value(each, half) != _value(each, checked) for each in along)

    for name in sorted(free, key=lambda each: (is_torn(each), -checked[each])):
        half = {**checked, name: checked[name] // 2}
        shorter = not worth or _problem_size(guesses, half) < _problem_size(guesses, checked)
        if checked[name] > _LEAST and shorter and has_positive_extents(guesses, half):
            guesses.check_sizes = half
            return True
    return False


def has_positive_extents(guesses: Guesses, sizes: Mapping[str, int]) -> bool:
    """Whether each extent is at least one."""
    return all(_value(each, sizes) >= 1 for each in (*(guesses.grid or ()), *guesses.lengths))


def _problem_size(guesses: Guesses, sizes: Mapping[str, int]) -> int:
    threads = math.prod(
        max(1, _value(each, sizes)) for each in (*(guesses.grid or ()), *(guesses.block or ()))
    )
    return max([threads, *(_value(each, sizes) for each in guesses.lengths)])


def infer_sizes(evidence: LaunchEvidence, guesses: Guesses) -> None:
    """Infer all sizes that an extent or a value depends on."""
    program = evidence.program
    _plain_grid(evidence, guesses)
    matters = _names_that_matter(guesses)
    _plain_values(evidence, guesses, matters)
    names_used = (matters | _names_in_values(guesses)) - guesses.defines.keys()
    candidates = [*guesses.sizes, *sorted(evidence.passed), *sorted(matters)]
    wanted = [each for each in dict.fromkeys(candidates) if each in names_used]
    checked = dict(guesses.check_sizes)
    choose_sizes(wanted, guesses, program, evidence.used.in_addresses)
    guesses.sizes = {name: guesses.sizes[name] for name in wanted}
    for name in wanted:
        if program.get(name):
            guesses.why.setdefault(f"sizes.{name}", "the program's value")
    choose_check_sizes(guesses)
    guesses.check_sizes |= checked


def prune(guesses: Guesses) -> None:
    """Drop sizes that nothing depends on."""
    names_used = _names_that_matter(guesses) | _names_in_values(guesses)
    guesses.sizes = {name: size for name, size in guesses.sizes.items() if name in names_used}
    guesses.check_sizes = {name: guesses.check_sizes[name] for name in guesses.sizes}


def _plain_grid(evidence: LaunchEvidence, guesses: Guesses) -> None:
    others = evidence.passed.union(*(each.names for each in guesses.lengths))
    alone = {
        name: amounts.constant_size(size)
        for name, size in evidence.known_sizes.items()
        if size <= _MOST_BLOCKS and name not in others
    }
    if guesses.grid is not None:
        guesses.grid = read_all(guesses.grid, alone) or guesses.grid


def _plain_values(evidence: LaunchEvidence, guesses: Guesses, matters: set[str]) -> None:
    sizes = evidence.known_sizes
    for name, amount in evidence.given.items():
        own = amount == amounts.parse_size(name) and name not in sizes
        if own or not amount.names or amount.names & matters or not amount.names <= sizes.keys():
            continue
        value = _as_type(amount.value(sizes), guesses.types[name])
        guesses.values[name] = str(value)
        guesses.why[f"value.{name}"] = "the value that the program passes"


def _as_type(number: int, type_name: str) -> int:
    """Wrap a number to an integer type, as C does."""
    bits = 8 * element_bytes(type_name)
    number %= 1 << bits
    signed = not type_name.startswith("u") and type_name != "bool"
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def _names_that_matter(guesses: Guesses) -> set[str]:
    dimensions = [*(guesses.block or ()), *(guesses.grid or ()), guesses.shared_bytes]
    lengths = [each for a in guesses.arrays.values() for each in (a.length, a.limit)]
    return {n for each in (*dimensions, *lengths) if each is not None for n in each.names}


def _names_in_values(guesses: Guesses) -> set[str]:
    return {name for text in guesses.values.values() for name in amounts.names_in(text)}


def uneven_values(guesses: Guesses) -> dict[str, tuple[int, ...]]:
    """Return values that are no multiples for check sizes of arrays and the grid."""
    used = {n for each in (*guesses.lengths, *(guesses.grid or ())) for n in each.names}
    wanted = {}
    for name, size in guesses.check_sizes.items():
        if name in used - guesses.block_names and size > STRUCTURAL and size % _MULTIPLE == 0:
            wanted[name] = tuple(size - less for less in _LESS[size <= _LONG])
    return wanted


def find_guarded(bounds: Iterable[IndexBound]) -> set[str]:
    """Return the sizes that a thread's index is compared with."""
    ends = (each.end for each in bounds)
    return {name for end in ends for name in end.names if end == amounts.parse_size(name)}


def use_uneven_values(guesses: Guesses) -> None:
    """Use uneven check sizes where the kernel has a bounds check; nothing is run."""
    chosen = {
        name: each[0] for name, each in uneven_values(guesses).items() if name in guesses.guarded
    }
    changed = {**guesses.check_sizes, **chosen}
    if has_positive_extents(guesses, changed):
        guesses.check_sizes = changed
        guesses.why["check"] = WHY_UNEVEN if chosen else ""
