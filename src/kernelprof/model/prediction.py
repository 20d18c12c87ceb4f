"""What a prediction says of a kernel beside its capture: plain values, also for baselines."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 (a record's types are read)
from dataclasses import dataclass, field
from typing import NamedTuple

from kernelprof.model.json_types import Number  # noqa: TC001
from kernelprof.model.manifest import CorrectnessFacts, SourceFacts  # noqa: TC001
from kernelprof.model.waiting import SourceLocation  # noqa: TC001


class Amount(NamedTuple):
    """A count of the whole grid, and the interval in which it lies.

    A tuple: files hold it as three numbers.
    """

    value: Number
    low: Number
    high: Number


@dataclass(frozen=True, slots=True)
class PredictedAccess:
    """What accesses of one kind, width and pattern at one source line ask of memory in a launch.

    ``space`` is ``global``, ``shared``, ``local`` or ``constant``, ``kind`` ``load``, ``store``,
    ``copy`` (global to shared), ``atomic``, ``reduction`` and the like. ``sectors`` are those of
    global and local memory, ``wavefronts`` those of shared memory, and ``ideal`` is as many of
    either as the same accesses take with adjacent addresses; ``None`` where there is no such count.
    """

    file: str
    line: int
    space: str
    kind: str
    bytes_a_thread: int
    instructions: int
    """Machine instructions at the line that do this; an unrolled loop has many."""
    requests: Amount
    sectors: Amount | None = None
    wavefronts: Amount | None = None
    ideal: Amount | None = None

    @property
    def moved(self) -> Amount | None:
        """Sectors, or wavefronts of shared memory."""
        return self.wavefronts if self.sectors is None else self.sectors

    @property
    def needless(self) -> float | None:
        """The part of what it moves that adjacent addresses would not need, 0 to 1.

        ``None`` where that is not known. Nothing needs local memory: its ideal is none.
        """
        moved = self.moved
        if moved is None or not moved.value:
            return None
        if self.space == "local":
            return 1.0
        return None if self.ideal is None else max(1 - self.ideal.value / moved.value, 0.0)


@dataclass(frozen=True, slots=True)
class LineWork:
    """The machine instructions of one source line, as warps carry them out in a launch.

    ``threads`` are the same by thread: 32 an instruction where no thread of a warp is missing.
    """

    file: str
    line: int
    instructions: Amount
    threads: Amount


class OneSided(NamedTuple):
    """An instruction that did the same for all sampled values, and need not for others."""

    file: str
    line: int
    text: str
    """Its opcode and numbers, without registers."""


class Mistake(NamedTuple):
    """What is wrong with a kernel, and the line that does it; none where only the result is."""

    what: str
    details: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class PathCoverage:
    """What of a kernel's control flow the counts and the check of its result do not cover.

    Lines are of files as accesses name them. A comparison looks at those that changed.
    """

    never_run: tuple[SourceLocation, ...] = ()
    """Lines that other data or other blocks may run, and no sampled block did."""
    unchecked: tuple[SourceLocation, ...] = ()
    """Lines that do at the measured size what they did not do where the result was checked."""
    untimed: tuple[SourceLocation, ...] = ()
    """Lines that sleep or read a clock: counts do not show how long that takes."""
    sampled: bool = True
    """Whether each outcome of conditions on block, thread and size is in the sample."""
    written_bytes: Amount | None = None
    """Bytes that threads write to global memory, again and again those that they write again;
    ``None`` where some are written in bulk."""
    output_bytes: int | None = None
    """Bytes of all outputs."""
    one_sided: tuple[OneSided, ...] = ()
    """Comparisons with one outcome in the blocks that were run in full, and clamps or masks that
    changed nothing there."""
    blocks: tuple[int, ...] = ()
    """Numbers of blocks whose results are compared with those of another version."""


@dataclass(frozen=True, slots=True)
class OutputSample:
    """Values that some blocks wrote to an output at the measured size, at hashed places of it.

    ``tolerance`` is the relative error that the check allows; 0 where values have to be equal.
    """

    name: str
    inputs: str
    """A digest of the arguments: samples with another one are not comparable."""
    tolerance: float
    places: tuple[int, ...]
    values: tuple[Number | None, ...]
    """``None``: infinite, or no number."""
    shared: bool = False
    """Whether blocks add to it: no other place of it changed."""
    extreme: bool = False
    """Whether inputs were far larger than those that the specification fills arrays with."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """What was counted for one architecture, by line.

    ``code`` is a digest of the machine code: kernels with equal ones run the same instructions.
    ``blocks_run`` of the grid's ``blocks`` were carried out for it; none where only the code was
    looked at. ``text`` has a short digest of each line of the source, by which another version of
    it is aligned: what a line says need not be kept for that.
    """

    arch: str
    code: str
    blocks: int
    blocks_run: int
    file: str = ""
    """The source, as accesses name it."""
    text: tuple[str, ...] = ()
    accesses: tuple[PredictedAccess, ...] = ()
    """Those first that move the most."""
    lines: tuple[LineWork, ...] = ()
    mistake: Mistake | None = None
    """Why nothing was counted."""
    coverage: PathCoverage | None = None
    outputs: tuple[OutputSample, ...] = ()


@dataclass(frozen=True, slots=True)
class PredictionFacts:
    """What was counted, what it was compiled from, and how its result was checked.

    ``intervals`` are where counters of the capture lie that are not known exactly, by canonical
    name.
    """

    counts: Predicted
    source: SourceFacts
    correctness: CorrectnessFacts | None = None
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
