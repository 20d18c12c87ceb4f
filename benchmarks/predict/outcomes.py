"""What came of predicting kernels, each in a process of its own, kept until something changes."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from benchmarks.predict.kernels import launch_key
from benchmarks.speed import timing

import kernelprof
import sassim
from benchmarks.predict import child
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.predict.kernels import Kernel

CACHE: Final = Path("build") / "predict"

_DECIDING: Final = ("analysis", "data", "launch", "prediction")
"""Folders of the package that decide what a prediction says, beside the simulator."""


class Value(NamedTuple):
    """A value, the interval in which it lies, and where it comes from."""

    value: float
    low: float
    high: float
    origin: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a verdict on a prediction says."""

    status: str
    bottleneck: str | None
    confidence: str
    also: tuple[str, ...] = ()
    estimated_gain: float | None = None
    gain_if_halved: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one kernel. ``error`` says why there are no values, ``kind`` is its class."""

    seconds: float
    """From the start of the process to its end."""
    processor_seconds: float
    peak_bytes: int
    values: dict[str, Value] = field(default_factory=dict)
    verdict: Said | None = None
    blocks: int = 0
    blocks_run: int = 0
    compiler: str = ""
    error: str = ""
    kind: str = ""


def predicted(
    kernels: Sequence[Kernel], say: Callable[[str], None], *, workers: int = 1, anew: bool = False
) -> dict[str, Outcome]:
    """The outcome of each kernel by its name; what is known of it as it is now is not run again.

    With several ``workers`` as many run at a time, which makes each of them slower.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    # msgspec crashes where two threads are the first to use a type.
    kept(kernels[:1])
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(lambda each: _outcome(each, say, anew=anew), kernels)
        return {each.name: outcome for each, outcome in zip(kernels, found, strict=True)}


def kept(kernels: Sequence[Kernel]) -> dict[str, Outcome]:
    """The outcomes that are known, by name, and nothing is run."""
    return {each.name: outcome for each in kernels if (outcome := _read(each)) is not None}


def _outcome(kernel: Kernel, say: Callable[[str], None], *, anew: bool) -> Outcome:
    known = None if anew else _read(kernel)
    if known is None:
        known = _run(kernel)
        said = known.error or f"{known.seconds:.1f} s"
        say(f"{kernel.name}: {said}")
        _place(kernel).write_bytes(msgspec.json.encode(known))
    return known


def _read(kernel: Kernel) -> Outcome | None:
    try:
        return msgspec.json.decode(_place(kernel).read_bytes(), type=Outcome)
    except (OSError, msgspec.MsgspecError):
        return None


def _run(kernel: Kernel) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as folder:
        command = [sys.executable, str(Path(child.__file__)), str(kernel.source)]
        ran, printed = timing.run(command, Path(folder))
    took = (ran.process_s, ran.cpu_s, ran.peak_bytes)
    if ran.exit_code != 0:
        last = printed.errors.strip().splitlines()[-1:]
        return Outcome(*took, error=" ".join(last), kind=f"exit code {ran.exit_code}")
    told: dict[str, Any] = json.loads(printed.out)
    if "error" in told:
        return Outcome(*took, error=told["error"], kind=told["kind"])
    verdict = {name: told["verdict"][name] for name in Said.__slots__}
    verdict["also"] = tuple(verdict["also"])
    values = {name: Value(*each) for name, each in told["values"].items()}
    rest = {name: told[name] for name in ("blocks", "blocks_run", "compiler")}
    return Outcome(*took, values=values, verdict=Said(**verdict), **rest)


def _place(kernel: Kernel) -> Path:
    """Where its outcome is kept: another file once source or predictor are others."""
    key = f"{kernel.name} {launch_key(kernel.source)} {predictor()}"
    return CACHE / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


@cache
def predictor() -> str:
    """A digest of all code and data that decide what a prediction says, and of the compiler's."""
    package = Path(kernelprof.__file__).parent
    digest = hashlib.sha256(Path(child.__file__).read_bytes())
    for path in sorted(_deciding(package)):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    from kernelprof.prediction.toolchain import find_toolchain

    digest.update(find_toolchain().compiler_version.encode())
    return digest.hexdigest()


def _deciding(package: Path) -> Iterator[Path]:
    folders = [package / each for each in _DECIDING] + [Path(sassim.__file__).parent]
    for folder in folders:
        paths = folder.rglob("*")
        yield from (each for each in paths if each.is_file() and each.suffix != ".pyc")
    yield from data_folder("metric_presets").glob("*.toml")
