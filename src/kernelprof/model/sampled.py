"""Machine instructions with what was sampled and counted at each, as a source page has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from kernelprof.model.records import RecordError, build, read_json
from kernelprof.model.waiting import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ISSUED: Final = ("selected", "not_selected")
"""States of a sampled warp that waits for nothing: it issues, or another one does instead."""
STALL_METRIC: Final = "smsp__pcsamp_warps_issue_stalled_"
STALLS: Final = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instructions",
    "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
    "warpgroup_arrive",
)  # fmt: skip
"""States of a sampled warp, as the metrics that begin with :data:`STALL_METRIC` call them."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


@dataclass(frozen=True, slots=True)
class Counts:
    """What one instruction did in all launches that were put together; ``None``: not counted.

    ``stalls`` are the samples by the state that the warp was in (:data:`STALLS`), without those
    that have none. ``executed`` counts warps, ``threads`` the threads whose predicate held, and
    ``divergent`` the times that threads of a warp went different ways. ``sectors`` are those of
    32 bytes that a global access moved between L1 and L2, ``wavefronts`` the passes that a shared
    one took, each with the ``ideal`` of the same access; ``local_sectors`` those of local memory.
    """

    samples: Count = 0
    stalls: dict[str, Count] = field(default_factory=dict)
    executed: Count | None = None
    threads: Count | None = None
    divergent: Count | None = None
    sectors: Count | None = None
    ideal_sectors: Count | None = None
    wavefronts: Count | None = None
    ideal_wavefronts: Count | None = None
    local_sectors: Count | None = None

    @property
    def waiting(self) -> int:
        """Samples of warps that waited here; 0 where states were not told apart."""
        return sum(n for state, n in self.stalls.items() if state not in ISSUED)

    def plus(self, other: Counts) -> Counts:
        """Add up both; what one of them lacks is not known of the sum."""
        states = dict(self.stalls)
        for state, samples in other.stalls.items():
            states[state] = states.get(state, 0) + samples
        sums = {name: _add_known(getattr(self, name), getattr(other, name)) for name in COUNTERS}
        return Counts(self.samples + other.samples, states, **sums)


PAGE: Final = "source"
"""The page of ``ncu`` that has instructions, and nothing else."""
COUNTERS: Final = (
    "executed", "threads", "divergent", "sectors", "ideal_sectors", "wavefronts",
    "ideal_wavefronts", "local_sectors",
)  # fmt: skip
"""The counters of an instruction that a report may lack."""


def _add_known(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


@dataclass(frozen=True, slots=True)
class SampledInstruction:
    """A machine instruction.

    ``offset`` is in bytes from the first of its function, and so are the targets of branches in
    its ``text``. ``places`` are the lines that it comes from, those of the kernel's own file first,
    the line itself before those that it was inlined at; none without line information.
    """

    offset: Count
    text: str
    places: tuple[SourceLocation, ...]
    counts: Counts


@dataclass(frozen=True, slots=True)
class SampledCode:
    """The instructions of a kernel in their order.

    ``source`` has the text of lines as the page prints them, ``whole`` that of the kernel's own
    file where it is known.
    """

    function: str
    instructions: tuple[SampledInstruction, ...]
    source: Mapping[SourceLocation, str] = field(default_factory=dict)
    whole: str = ""

    @property
    def samples(self) -> int:
        """Of all its instructions."""
        return sum(each.counts.samples for each in self.instructions)

    @property
    def file(self) -> str | None:
        """The file that the kernel itself is in: that of its first instruction with a line."""
        files = (each.places[0].file for each in self.instructions if each.places)
        return next(files, None)

    def with_files(self, name: Callable[[str], str]) -> SampledCode:
        """Return the same code with files renamed by ``name``, a function of their path."""
        paths = {location.file for each in self.instructions for location in each.places}
        names = {path: name(path) for path in paths}

        def called(location: SourceLocation) -> SourceLocation:
            return SourceLocation(names[location.file], location.line)

        instructions = tuple(
            replace(each, places=tuple(map(called, each.places))) for each in self.instructions
        )
        source = {called(location): text for location, text in self.source.items()}
        return replace(self, instructions=instructions, source=source)

    def text_of(self, location: SourceLocation) -> str:
        """Return the text of a line without blanks around it; empty where it is not known."""
        if location.file == self.file and self.whole:
            lines = self.whole.split("\n")
            return lines[location.line - 1].strip() if 1 <= location.line <= len(lines) else ""
        return self.source.get(location, "").strip()


def sum_launches(codes: Iterable[SampledCode]) -> tuple[SampledCode, ...]:
    """Add up the counts of launches of the same kernel and code."""
    summed: dict[tuple[object, ...], SampledCode] = {}
    for code in codes:
        key = (code.function, *((each.offset, each.text) for each in code.instructions))
        earlier = summed.get(key)
        summed[key] = code if earlier is None else _add_counts(earlier, code)
    return tuple(summed.values())


def _add_counts(one: SampledCode, other: SampledCode) -> SampledCode:
    pairs = zip(one.instructions, other.instructions, strict=True)
    summed = (replace(a, counts=a.counts.plus(b.counts)) for a, b in pairs)
    return replace(one, instructions=tuple(summed))


_MOST_INSTRUCTIONS: Final = 1_000_000
"""Of all kernels of a file; the largest kernel of the corpus has 21,408."""


@dataclass(frozen=True, slots=True)
class _Function:
    name: str
    instructions: tuple[tuple[Count, str, tuple[Count, ...], Count, dict[str, Count]], ...]
    """Offset, text, numbers of its places, samples, and samples by state."""
    counters: dict[str, tuple[tuple[Count, Count], ...]]
    """By name what is not 0: the instruction's number, and its count; a name that is missing was
    not counted."""


@dataclass(frozen=True, slots=True)
class _Stored:
    places: tuple[tuple[str, Count, str | None], ...]
    """File, line, and the text of the line where it is known."""
    functions: tuple[_Function, ...]


def to_bytes(codes: Iterable[SampledCode]) -> bytes:
    """Write kernels with their instructions as JSON, in which what is 0 is left out."""
    numbers: dict[SourceLocation, int] = {}
    texts: dict[SourceLocation, str] = {}
    functions = []
    for code in codes:
        texts.update(code.source)
        rows = tuple(
            (
                each.offset,
                each.text,
                tuple(numbers.setdefault(location, len(numbers)) for location in each.places),
                each.counts.samples,
                each.counts.stalls,
            )
            for each in code.instructions
        )
        counters = {
            name: tuple((at, value) for at, value in enumerate(values) if value)
            for name in COUNTERS
            if None not in (values := [getattr(i.counts, name) for i in code.instructions])
        }
        functions.append(_Function(code.function, rows, counters))
    locations = tuple((each.file, each.line, texts.get(each)) for each in numbers)
    return msgspec.json.encode(_Stored(locations, tuple(functions)))


def from_bytes(data: bytes) -> tuple[SampledCode, ...]:
    """Read kernels from their file; :class:`ValueError` where it is none."""
    stored = build(_Stored, read_json(data.decode("utf-8")))
    if sum(len(each.instructions) for each in stored.functions) > _MOST_INSTRUCTIONS:
        raise RecordError(f"it has more than {_MOST_INSTRUCTIONS:,} instructions")
    locations = tuple(SourceLocation(file, line) for file, line, _ in stored.places)
    texts = {
        SourceLocation(file, line): text for file, line, text in stored.places if text is not None
    }
    try:
        return tuple(_build_code(each, locations, texts) for each in stored.functions)
    except IndexError as error:
        raise RecordError("it refers to a source line that it does not contain") from error


def _build_code(
    stored: _Function, locations: tuple[SourceLocation, ...], texts: Mapping[SourceLocation, str]
) -> SampledCode:
    counters = {name: dict(pairs) for name, pairs in stored.counters.items() if name in COUNTERS}
    instructions = tuple(
        SampledInstruction(
            offset,
            text,
            tuple(locations[number] for number in numbers),
            Counts(
                samples, states, **{n: counts_at.get(at, 0) for n, counts_at in counters.items()}
            ),
        )
        for at, (offset, text, numbers, samples, states) in enumerate(stored.instructions)
    )
    own = {location for each in instructions for location in each.places}
    return SampledCode(
        stored.name, instructions, {p: text for p, text in texts.items() if p in own}
    )
