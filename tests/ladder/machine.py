"""A machine for the ladder: a GPU by name, a stand-in for ``ncu``, and kernels to replay."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kernelprof.collect.environment import LocalGpu, LocalMachine
from kernelprof.ladder.ceiling import CeilingError
from kernelprof.ladder.results import CublasCeiling
from kernelprof.launch.run.prepare import PreparedKernel
from kernelprof.launch.run.trial import timing_facts
from kernelprof.model.manifest import CorrectnessFacts, SourceFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kernelprof.errors import KernelprofError
    from kernelprof.ladder.product import Product
    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.specification.overrides import LaunchOverrides

STAND_IN = Path(__file__).parents[1] / "fake_ncu" / "ncu"
FLOPS = 2.0 * 2048**3
CUBLAS_NS = 345_000.0
MIN_BYTES = 12.0 * 2048**2
H200 = LocalGpu(0, "NVIDIA H200", (9, 0), max_sm_mhz=1980.0, max_memory_mhz=3201.0)

REPLAYED = {
    "01_naive.cu": (r"^gemm_bad", 1, 35_310_000.0),
    "02_coalesced.cu": (r"^gemm_coalesced", 1, 2_780_000.0),
    "03_shared_tile.cu": (r"^void gemm_tiled<\(int\)32, \(int\)1", 0, 1_870_000.0),
}
"""Launches of ``gemm_series`` that are the first rungs with 32x32 threads: the kernel, how many of
its launches come before, and its time by CUDA events (``tests/captures/README.md``)."""


@dataclass
class Workshop:
    """Stands in for what builds, checks and times; it remembers what it was asked for.

    ``failing`` are errors by file, or by file and defines: ``01_naive.cu BLOCK=16``.
    """

    folder: Path
    asked: list[tuple[str, dict[str, int], dict[str, Any]]] = field(default_factory=list)
    failing: dict[str, KernelprofError | KeyboardInterrupt] = field(default_factory=dict)

    @contextmanager
    def __call__(
        self,
        source: Path,
        overrides: LaunchOverrides,
        interrupts: Interrupts,
        tell: Callable[[str], None],
    ) -> Iterator[PreparedKernel]:
        del interrupts
        tell(f"{source.name}: compiling")
        self.asked.append((source.name, dict(overrides.sizes), dict(overrides.defines)))
        words = " ".join(
            [source.name, *(f"{name}={overrides.defines[name]}" for name in overrides.defines)]
        )
        if words in self.failing:
            raise self.failing[words]
        kernel, before, median = REPLAYED[source.name]
        times = [median * (1 + step * 1e-4) for step in range(-10, 11)]
        yield PreparedKernel(
            target=str(source),
            command=(str(self.folder / "gemm_series"), f"--cubin={self.folder}/kernel.cubin"),
            kernel=kernel,
            launch_skip=before,
            launch_count=1,
            source=SourceFacts(
                path=str(source), sha256="0" * 64, compiler="nvcc 13.0.88", compile_flags=("-O3",)
            ),
            timing=timing_facts(times, warm_up=5, flops=FLOPS, min_bytes=MIN_BYTES),
            correctness=CorrectnessFacts(True, "gemm", 3.1e-7, 1e-5),
        )


@dataclass
class StandInCublas:
    """Stands in for cuBLAS: twice as long for twice the size; it remembers each row of times.

    ``fails_after`` rows it is gone; ``ended`` is called when its process would be.
    """

    rows: list[tuple[int, int]] = field(default_factory=list)
    fails_after: int | None = None
    ended: Callable[[], None] = lambda: None
    products: list[Product] = field(default_factory=list)

    def __call__(self, product: Product, interrupts: Interrupts) -> StandInCublas:
        del interrupts
        self.products.append(product)
        return self

    def __enter__(self) -> StandInCublas:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended()

    def ceiling(self, size: int) -> CublasCeiling:
        return CublasCeiling(timing_facts([CUBLAS_NS] * 20, warm_up=5, flops=2.0 * size**3), 2.1e-7)

    def times(self, size: int, count: int) -> list[float]:
        if self.fails_after is not None and len(self.rows) >= self.fails_after:
            raise CeilingError("cuBLAS was not measured: it is gone", hint="look for it")
        self.rows.append((size, count))
        return [CUBLAS_NS * size / 4096] * count


@contextmanager
def stand_in_timer(
    prepared: PreparedKernel, interrupts: Interrupts
) -> Iterator[Callable[[Mapping[str, int], int], list[float]]]:
    """Stands in for the process that times a rung: as long as it is known to take."""
    del interrupts
    timing = prepared.timing
    assert timing is not None
    yield lambda sizes, count: [timing.median_ns * sizes["N"] / 4096] * count


@pytest.fixture
def cublas(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> StandInCublas:
    """cuBLAS that can be timed in turns with the rungs of the workshop."""
    del workshop
    made = StandInCublas()
    monkeypatch.setattr("kernelprof.ladder.climb.Cublas", made)
    return made


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, on a machine with an H200 whose ``ncu`` replays captures."""
    work = tmp_path / "work"
    work.mkdir()
    program = work / "gemm_series"
    program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    ncu = tmp_path / "ncu"
    ncu.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n', encoding="utf-8")
    for each in (program, ncu):
        each.chmod(0o755)
    monkeypatch.setenv("KERNELPROF_NCU", str(ncu))
    monkeypatch.setattr(
        "kernelprof.collect.environment.query_machine",
        lambda: LocalMachine((H200,), "580.159.04", "13.0"),
    )
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def workshop(machine: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """The stand-in for building and launching, where there is no CuPy."""
    made = Workshop(machine)
    monkeypatch.setattr("kernelprof.ladder.bench.prepare_kernel", made)
    monkeypatch.setattr("kernelprof.ladder.bench.make_timer", stand_in_timer)

    def fails(*_: object) -> None:
        raise CeilingError("cuBLAS was not measured: CuPy is not installed here", hint="get it")

    monkeypatch.setattr("kernelprof.ladder.climb.Cublas", fails)
    return made


@pytest.fixture
def results() -> Callable[[Path], dict[str, Any]]:
    """Read what a run kept."""

    def read(path: Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    return read
