"""What a climb found out, as plain values with their JSON, and the figures that follow from it."""

from __future__ import annotations

import json
import math
import re
import statistics
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

from kernelprof.analysis.metrics.architectures import FLOPS_OF_FMA, fp32_lanes, tensor_fmas
from kernelprof.analysis.metrics.traffic import Traffic  # noqa: TC001 (read below)
from kernelprof.errors import ErrorFacts, InputError
from kernelprof.ladder.product import Product
from kernelprof.model.manifest import CorrectnessFacts, TimingFacts  # noqa: TC001 (read below)
from kernelprof.model.records import RecordError, build, read_object

SCHEMA_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class ShortVerdict:
    """A verdict in short; ``gain`` is the factor of run time to expect of the way out."""

    status: str
    bottleneck: str | None
    confidence: str
    gain: float | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProfileSummary:
    """How a rung was profiled: the verdict, runs, passes (``None``: unknown) and seconds."""

    said: ShortVerdict
    runs: int
    passes: int | None
    seconds: float


class TimedRound(NamedTuple):
    """Medians of one round, in nanoseconds."""

    rung_ns: float
    ceiling_ns: float


@dataclass(frozen=True, slots=True)
class InterleavedTiming:
    """A rung and cuBLAS at one size, from the same rounds."""

    size: int
    timing: TimingFacts
    ceiling: TimingFacts
    rounds: tuple[TimedRound, ...] = field(default=())


class Ratio(NamedTuple):
    """What part of cuBLAS' speed a rung has: the median of the rounds, the lowest, the highest."""

    median: float
    low: float
    high: float


def ratio_of(timing: InterleavedTiming) -> Ratio:
    """The rung's speed over that of cuBLAS, from each round's own two medians."""
    ratios = [each.ceiling_ns / each.rung_ns for each in timing.rounds]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios))


@dataclass(frozen=True, slots=True)
class Climbed:
    """One rung: how fast it is, what limits it, and what it moved.

    ``beside`` has a measurement in turns with cuBLAS for each size; ``timing`` is the last.
    """

    file: str
    title: str
    after: str | None = None
    source_sha256: str | None = None
    defines: dict[str, Any] = field(default_factory=dict)
    timing: TimingFacts | None = None
    correctness: CorrectnessFacts | None = None
    full: ProfileSummary | None = None
    traffic: Traffic | None = None
    error: ErrorFacts | None = None
    beside: tuple[InterleavedTiming, ...] = ()

    @property
    def number(self) -> int:
        """The number that the file's name begins with."""
        return int(self.file[:2])

    def at(self, size: int) -> InterleavedTiming | None:
        """The measurement beside cuBLAS at a size, if there is one."""
        return next((each for each in self.beside if each.size == size), None)


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
class CublasCeiling:
    """cuBLAS on the same problem; ``relative_error`` is a small product's, against float64."""

    timing: TimingFacts
    relative_error: float
    device: str | None = None
    cupy: str | None = None
    cuda_runtime: str | None = None
    cublas: str | None = None


@dataclass(frozen=True, slots=True)
class Climb:
    """Everything that the report is made from; ``sizes`` are those of the profiles."""

    kernelprof: str
    created: str
    command: str
    sizes: dict[str, Any]
    surroundings: Surroundings
    ceiling: CublasCeiling | None = None
    ceiling_error: ErrorFacts | None = None
    rungs: tuple[Climbed, ...] = ()
    ladder: str = "sgemm"
    title: str = "The GEMM ladder"
    product: Product = field(default_factory=Product)
    schema_version: str = SCHEMA_VERSION

    @property
    def measured_sizes(self) -> tuple[int, ...]:
        """Those that rungs were measured at beside cuBLAS, ascending."""
        return tuple(sorted({each.size for rung in self.rungs for each in rung.beside}))

    def rung(self, file: str) -> Climbed | None:
        """The rung of a file, if it was climbed."""
        return next((each for each in self.rungs if each.file == file), None)


_ADDED: Final = ("ladder", "title", "product")


def to_json(climb: Climb) -> str:
    """Write a climb as JSON, without added keys that have their defaults."""
    values = asdict(climb)
    plain = Climb("", "", "", {}, Surroundings())
    for key in _ADDED:
        if getattr(climb, key) == getattr(plain, key):
            del values[key]
    for rung in values["rungs"]:
        if not rung["beside"]:
            del rung["beside"]
    version = {"schema_version": values.pop("schema_version")}
    return json.dumps({**version, **values}, indent=1, ensure_ascii=False) + "\n"


def _check_climb(climb: Climb) -> Climb:
    for name, size in climb.sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise RecordError(f"'sizes.{name}' is not a positive whole number: {size!r:.80}")
    if climb.ceiling is not None:
        check_timing(climb.ceiling.timing, "ceiling.timing")
    for at, rung in enumerate(climb.rungs):
        if not re.match(r"[0-9]{2}", rung.file):
            raise RecordError(
                f"'rungs[{at}].file' does not begin with two digits: {rung.file!r:.80}"
            )
        check_timing(rung.timing, f"rungs[{at}].timing")
        for number, timing in enumerate(rung.beside):
            _check_interleaved(timing, f"rungs[{at}].beside[{number}]")
    return climb


def _check_interleaved(timing: InterleavedTiming, position: str) -> None:
    check_timing(timing.timing, f"{position}.timing")
    check_timing(timing.ceiling, f"{position}.ceiling")
    if timing.size < 1:
        raise RecordError(f"'{position}.size' is not a positive whole number: {timing.size!r}")
    if not timing.rounds:
        raise RecordError(f"'{position}.rounds' is empty")
    for each in (time for medians in timing.rounds for time in medians):
        if not 0 < each < math.inf:
            raise RecordError(f"'{position}.rounds' has a value that is not a time: {each!r}")


def check_timing(timing: TimingFacts | None, position: str) -> None:
    """Refuse times that are none with :class:`RecordError`."""
    if timing is None:
        return
    for name in ("median_ns", "low_ns", "high_ns"):
        value = getattr(timing, name)
        if not 0 < value < math.inf:
            raise RecordError(f"'{position}.{name}' is not a time: {value!r}")
    for name in ("flops", "min_bytes", "confidence_low_ns", "confidence_high_ns"):
        value = getattr(timing, name)
        if value is not None and not 0 <= value < math.inf:
            raise RecordError(f"'{position}.{name}' is negative or not finite: {value!r}")


def from_json(text: str, where: str) -> Climb:
    """A climb from its JSON; :class:`InputError` names the key of a mistake."""
    try:
        values = read_object(text)
        version = values.get("schema_version")
        if version != SCHEMA_VERSION:
            raise RecordError(f"its schema_version is {version!r}")
        return _check_climb(build(Climb, values))
    except RecordError as error:
        raise InputError(
            f"this is not the result of a ladder: {error}",
            where=where,
            hint="name the JSON file that 'kernelprof ladder run' wrote beside its report",
        ) from error


def gflops(timing: TimingFacts | None) -> float | None:
    """Useful floating-point operations in a nanosecond, which is GFLOP/s."""
    if timing is None or not timing.flops or timing.median_ns <= 0:
        return None
    return timing.flops / timing.median_ns


def peak_lanes(chip: Surroundings, product: Product) -> int | None:
    """Return multiply-adds of an SM per cycle: of FP32 lanes, or of tensor cores for BF16."""
    if product.precision == "float32":
        return fp32_lanes(chip.compute_capability)
    return tensor_fmas(chip.compute_capability, product.precision)


def peak_gflops(chip: Surroundings, product: Product) -> float | None:
    """What those units of all SMs do at the highest clock that the GPU allows."""
    lanes = peak_lanes(chip, product)
    if lanes is None or chip.multiprocessors is None or not chip.max_sm_mhz:
        return None
    return chip.multiprocessors * lanes * FLOPS_OF_FMA * chip.max_sm_mhz * 1e-3


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    """One over the other, not known where one of them is not."""
    return None if numerator is None or not denominator else numerator / denominator


def of_ceiling(climb: Climb, rung: Climbed) -> float | None:
    """What part of cuBLAS' speed a rung has: beside it in turns, else by both alone."""
    timing = rung.beside[-1] if rung.beside else None
    if timing is not None:
        return ratio_of(timing).median
    return ratio(gflops(rung.timing), ceiling_rate(climb))


def ceiling_rate(climb: Climb) -> float | None:
    """What cuBLAS does in GFLOP/s: the median over the rungs that it was timed in turns with."""
    besides = [rung.beside[-1] for rung in climb.rungs if rung.beside]
    rates = [rate for rate in (gflops(each.ceiling) for each in besides) if rate is not None]
    if rates:
        return statistics.median(rates)
    return None if climb.ceiling is None else gflops(climb.ceiling.timing)


def speedup(before: TimingFacts | None, after: TimingFacts | None) -> float | None:
    """How many times as fast the second is as the first, by their medians."""
    if before is None or after is None:
        return None
    return ratio(before.median_ns, after.median_ns)


def gain_before(climb: Climb, rung: Climbed) -> float | None:
    """How many times as fast as the rung that it changes."""
    before = None if rung.after is None else climb.rung(rung.after)
    return None if before is None else speedup(before.timing, rung.timing)


def next_gains(climb: Climb, rung: Climbed) -> list[tuple[Climbed, float]]:
    """The rungs that change this one in one thing, and what each gained."""
    following = [each for each in climb.rungs if each.after == rung.file]
    gains = [(each, speedup(rung.timing, each.timing)) for each in following]
    return [(each, gain) for each, gain in gains if gain is not None]
