"""What a climb found out, as plain values with their JSON, and the figures that follow from it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, Final

from kernelprof.analysis.metrics.architectures import FLOPS_OF_FMA, fp32_lanes
from kernelprof.analysis.metrics.traffic import Traffic  # noqa: TC001 (read below)
from kernelprof.errors import InputError, KernelprofError
from kernelprof.model.manifest import CorrectnessFacts, TimingFacts  # noqa: TC001 (read below)
from kernelprof.model.records import RecordError, build, read_object

SCHEMA_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error that was met, in the words that a user gets."""

    what: str
    where: str | None = None
    hint: str | None = None
    exit_code: int = 2


@dataclass(frozen=True, slots=True)
class ShortVerdict:
    """A verdict in short; ``gain`` is the factor of run time to expect of the way out."""

    status: str
    bottleneck: str | None
    confidence: str
    gain: float | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Way:
    """One way to profile a rung: the verdict at its end, and what it cost.

    ``passes`` is how often the kernel was replayed, ``None`` where ``ncu`` does not say.
    ``seconds`` are those on the clock, with the start of the program and the reading of reports.
    """

    said: ShortVerdict
    runs: int
    passes: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Climbed:
    """One rung: how fast it is, what limits it, and what was moved for it.

    ``source_sha256`` is the hash of the kernel's file. ``full`` comes from the preset ``full`` in
    one run.
    """

    file: str
    title: str
    after: str | None = None
    source_sha256: str | None = None
    defines: dict[str, Any] = field(default_factory=dict)
    timing: TimingFacts | None = None
    correctness: CorrectnessFacts | None = None
    full: Way | None = None
    traffic: Traffic | None = None
    error: Trouble | None = None

    @property
    def number(self) -> int:
        """The number that the file's name begins with."""
        return int(self.file[:2])


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the ladder was climbed on and with."""

    gpu: str | None = None
    compute_capability: str | None = None
    multiprocessors: int | None = None
    max_sm_mhz: float | None = None
    driver: str | None = None
    cuda: str | None = None
    compiler: str | None = None
    ncu: str | None = None
    clock_control: str | None = None


@dataclass(frozen=True, slots=True)
class Ceiling:
    """cuBLAS on the same problem; ``relative_error`` is a small product's, against float64."""

    timing: TimingFacts
    relative_error: float
    device: str | None = None
    cupy: str | None = None
    cuda_runtime: str | None = None
    cublas: str | None = None


@dataclass(frozen=True, slots=True)
class Climb:
    """Everything that the report is made from; ``created`` is UTC in ISO 8601."""

    kernelprof: str
    created: str
    command: str
    sizes: dict[str, Any]
    surroundings: Surroundings
    ceiling: Ceiling | None = None
    ceiling_error: Trouble | None = None
    rungs: tuple[Climbed, ...] = ()
    schema_version: str = SCHEMA_VERSION

    def rung(self, file: str) -> Climbed | None:
        """The rung of a file, if it was climbed."""
        return next((each for each in self.rungs if each.file == file), None)


def trouble(error: KernelprofError) -> Trouble:
    """An error as a value."""
    return Trouble(error.what, error.where, error.hint, int(error.exit_code))


def _checked(climb: Climb) -> Climb:
    """The climb, if its reports can be written: of its numbers only some make sense."""
    for name, size in climb.sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise RecordError(f"'sizes.{name}' is not a whole number from 1 on: {size!r:.80}")
    if climb.ceiling is not None:
        check_timing(climb.ceiling.timing, "ceiling.timing")
    for at, rung in enumerate(climb.rungs):
        if not re.match(r"[0-9]{2}", rung.file):
            raise RecordError(f"'rungs[{at}].file' does not begin with a number: {rung.file!r:.80}")
        check_timing(rung.timing, f"rungs[{at}].timing")
    return climb


def check_timing(timing: TimingFacts | None, place: str) -> None:
    """Refuse times that are none with :class:`RecordError`."""
    if timing is None:
        return
    for name in ("median_ns", "low_ns", "high_ns"):
        value = getattr(timing, name)
        if not 0 < value < math.inf:
            raise RecordError(f"'{place}.{name}' is not a time: {value!r}")
    for name in ("flops", "min_bytes", "confidence_low_ns", "confidence_high_ns"):
        value = getattr(timing, name)
        if value is not None and not 0 <= value < math.inf:
            raise RecordError(f"'{place}.{name}' is not an amount: {value!r}")


def from_json(text: str, where: str) -> Climb:
    """A climb from its JSON; :class:`InputError` names the key of a mistake."""
    try:
        values = read_object(text)
        version = values.get("schema_version")
        if version != SCHEMA_VERSION:
            raise RecordError(f"its schema_version is {version!r}")
        return _checked(build(Climb, values))
    except RecordError as error:
        raise InputError(
            f"this is not the result of a climb: {error}",
            where=where,
            hint="name the JSON file that 'kernelprof ladder run' wrote beside its report",
        ) from error


def gflops(timing: TimingFacts | None) -> float | None:
    """Useful floating-point operations in a nanosecond, which is GFLOP/s."""
    if timing is None or not timing.flops or timing.median_ns <= 0:
        return None
    return timing.flops / timing.median_ns


def peak_gflops(chip: Surroundings) -> float | None:
    """What the FP32 lanes of all SMs do at the highest clock that the GPU allows."""
    lanes = fp32_lanes(chip.compute_capability)
    if lanes is None or chip.multiprocessors is None or not chip.max_sm_mhz:
        return None
    return chip.multiprocessors * lanes * FLOPS_OF_FMA * chip.max_sm_mhz * 1e-3


def ratio(part: float | None, whole: float | None) -> float | None:
    """One over the other, not known where one of them is not."""
    return None if part is None or not whole else part / whole


def speedup(before: TimingFacts | None, after: TimingFacts | None) -> float | None:
    """How many times as fast the second is as the first, by their medians."""
    if before is None or after is None:
        return None
    return ratio(before.median_ns, after.median_ns)


def next_gains(climb: Climb, rung: Climbed) -> list[tuple[Climbed, float]]:
    """The rungs that change this one in one thing, and what each gained."""
    following = [each for each in climb.rungs if each.after == rung.file]
    gains = [(each, speedup(rung.timing, each.timing)) for each in following]
    return [(each, gain) for each, gain in gains if gain is not None]
