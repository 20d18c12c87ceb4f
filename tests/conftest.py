"""Fixtures that several folders share."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Final

import pytest
from tests.support.commands import Command
from tests.support.processes import interruptible
from tests.support.slow import function_of, slow_tests

import kernelprof
from kernelprof.installation import Installation
from kernelprof.model.capture import Origin
from kernelprof.model.diagnosis import (
    Candidate,
    Confidence,
    Diagnosis,
    DurationRange,
    Evidence,
    KernelDiagnosis,
    MetricFinding,
    MissingMetric,
    Status,
    Verdict,
    VerdictEvidence,
)

ROOT = Path(__file__).parents[1]
CAPTURES = ROOT / "tests" / "captures"
BUILT = {"build", "dist", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
"""What may appear at the root of the checkout while tests run."""
COMMAND = "ncu --metrics " + ",".join(f"metric_{number}.sum" for number in range(12)) + " ./app x"

FINDINGS: Final[Mapping[str, str | None]] = {
    "Stores touch 32 sectors per request.": "shared-bank-conflicts",
    "Loads touch 16 sectors per request.": "shared-bank-conflicts",
    "L1/TEX is at 97 % of peak.": None,
    "The grid has 0.77 waves.": "small-grid",
}

RunCli = Callable[..., subprocess.CompletedProcess[str]]


class Samples:
    """Model values to render; the numbers are the ones of the shipped captures."""

    command = COMMAND

    uncoalesced = Verdict(
        status=Status.BOTTLENECK,
        bottleneck="uncoalesced-global-access",
        confidence=Confidence.HIGH,
        gain=12.7,
        gain_interval=(7.62, 21.59),
        gain_reason="L1, 99 % busy, and its sectors, 92 % waste",
        also=(Candidate("memory-latency", 1.0, 1.3),),
        evidence=(
            VerdictEvidence(
                "load_bytes",
                "bytes used per sector",
                4.23,
                "byte/sector",
                "<",
                16,
                phrase="{n} of 32 bytes used per sector",
            ),
            Evidence("l1_throughput", "L1 throughput", 98.97, "%", ">", 80.0),
            VerdictEvidence(
                "load_sectors", "sectors loaded", 4563402752, "sector", phrase="{n} sectors loaded"
            ),
            VerdictEvidence(
                "excess",
                "sectors per sector needed",
                8.5,
                "1",
                ">",
                1.25,
                Origin.DERIVED,
                "sectors loaded / sectors needed",
                phrase="{n} sectors loaded per sector needed",
            ),
        ),
        why="Neighbouring threads of a warp read addresses that lie a row apart.",
        advice=("Let threadIdx.x run along the columns.", "Or stage a tile in shared memory."),
    )
    at_limit = Verdict(
        status=Status.AT_LIMIT,
        bottleneck="dram-bandwidth",
        confidence=Confidence.MEDIUM,
        gain_reason="the busiest unit beside device memory",
        headroom=3.7,
        evidence=(Evidence("dram_throughput", "DRAM throughput", 91.7, "%", ">", 85.0),),
        waste=(Evidence("load_bytes", "needless sectors", 1.5, "%"),),
        why="Device memory is as full as it gets.",
        advice=("Move fewer bytes.",),
    )
    inconclusive = Verdict(
        status=Status.INCONCLUSIVE,
        bottleneck=None,
        confidence=Confidence.LOW,
        also=(
            Candidate("shared-bank-conflicts", 1.0, 16.0),
            Candidate("shared-memory-throughput", 1.0, 2.0),
        ),
        evidence=(Evidence("memory_throughput", "memory throughput", 97.8, "%"),),
        why="The memory system is busy, and the capture does not say with what.",
        findings=tuple(
            MetricFinding(text, f"metric_{at}", bottleneck=bottleneck)
            for at, (text, bottleneck) in enumerate(FINDINGS.items())
        ),
        missing=(
            MissingMetric(
                "shared_wavefronts",
                "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
                "tells conflicts from plain traffic",
            ),
        ),
        command=COMMAND,
    )

    @staticmethod
    def kernel(
        name: str,
        verdict: Verdict,
        *,
        block: tuple[int, int, int] | None = (32, 32, 1),
        duration: float | None = 35_310_000.0,
        share: float | None = 0.5,
        rows: range = range(1),
    ) -> KernelDiagnosis:
        return KernelDiagnosis(
            rows=tuple(rows),
            ids=tuple(str(row) for row in rows),
            name=name,
            grid=(64, 64, 1),
            block=block,
            device="NVIDIA H200",
            compute_capability=(9, 0),
            duration_ns=None
            if duration is None
            else DurationRange(duration, 0.98 * duration, 1.03 * duration),
            share=share,
            verdict=verdict,
        )

    @classmethod
    def diagnosis(cls) -> Diagnosis:
        signature = "(const float *, const float *, float *, int, int, int)"
        return Diagnosis(
            kernels=(
                cls.kernel(f"gemm_bad{signature}", cls.uncoalesced, share=0.61),
                cls.kernel(
                    f"gemm_bad{signature}",
                    cls.uncoalesced,
                    block=(16, 16, 1),
                    duration=17_650_000.0,
                    share=0.302,
                    rows=range(1, 2),
                ),
                cls.kernel(
                    "void bank_conflict<(int)32>(const float *[4], int)",
                    cls.inconclusive,
                    duration=2_130.0,
                    share=0.0702,
                    rows=range(2, 20_002),
                ),
                cls.kernel(
                    "copy_vec4(const float4 *, float4 *, unsigned long)",
                    cls.at_limit,
                    duration=544_100.0,
                    share=0.0004,
                    rows=range(20_002, 20_003),
                ),
            ),
            origin="gemm_series.full.raw.csv",
            warnings=("The last row is cut off in the middle and was left out.",),
        )

    @classmethod
    def many(cls, count: int) -> Diagnosis:
        kernels = tuple(
            cls.kernel(
                f"kernel_{row}(int)", cls.inconclusive, share=1 / count, rows=range(row, row + 1)
            )
            for row in range(count)
        )
        return Diagnosis(kernels=kernels, origin="many.csv")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector off what stays to the end: thousands of tests and their modules.

    Searching them for cycles again and again took a fifth of the time of the tests.
    """
    gc.disable()
    yield
    gc.freeze()
    gc.set_threshold(200_000, 10, 10)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out exhaustive tests, and mark as slow what is on the list of tests that take long."""
    if not os.environ.get("EXHAUSTIVE"):
        kept: dict[bool, list[pytest.Item]] = {True: [], False: []}
        for item in items:
            kept[item.get_closest_marker("exhaustive") is None].append(item)
        config.hook.pytest_deselected(items=kept[False])
        items[:] = kept[True]
    slow = slow_tests()
    for item in items:
        if function_of(item.nodeid) in slow:
            item.add_marker(pytest.mark.slow("takes long"))


@pytest.fixture
def samples() -> type[Samples]:
    return Samples


@pytest.fixture(scope="session")
def captures() -> Path:
    return CAPTURES


@pytest.fixture(scope="session", autouse=True)
def _surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same for everybody: 80 columns, colour by what the output is, and an empty cache.

    Programs that tests start by the hundred keep what they compile, as they do for a user.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr("kernelprof.installation.find_installation", Installation)
        for name in ("NO_COLOR", "FORCE_COLOR", "PYTHONDONTWRITEBYTECODE"):
            patch.delenv(name, raising=False)
        yield


@pytest.fixture(autouse=True)
def _everything_is_predicted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test may replace a part of the program, which the cache's keys do not show."""
    switch = ContextVar("caching", default=False)
    monkeypatch.setattr("kernelprof.interface.prediction_cache.caching", switch)


@pytest.fixture(autouse=True)
def _nothing_is_left_in_the_checkout() -> Iterator[None]:
    """A test that fails here, or one that ran beside it, wrote into the folder it stood in."""
    before = names_at_root()
    yield
    assert sorted(names_at_root() - before - BUILT) == []


def names_at_root() -> set[str]:
    return {entry.name for entry in os.scandir(ROOT)}  # ``Path.iterdir`` takes four times as long


@pytest.fixture(name="interruptible")
def _interruptible() -> Iterator[None]:
    """For tests that send themselves signals; also where tests are run in the background."""
    with interruptible():
        yield


@pytest.fixture(scope="session")
def cli_environment() -> dict[str, str]:
    """The environment of a child process that finds this very kernelprof."""
    kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    here = str(Path(kernelprof.__file__).parent.parent)
    before = [path for path in kept.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {**kept, "PYTHONPATH": os.pathsep.join([here, *before])}


@pytest.fixture(name="kernelprof")
def _kernelprof(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command as it is typed, and checks what it ends with and writes."""
    return Command(capsys)


@pytest.fixture(scope="session")
def run_cli() -> RunCli:
    """Run a command as it is typed, without a terminal, in this process: so it starts at once."""

    def run(
        *arguments: str, stdin: str = "", cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        from kernelprof.cli.main import main

        given, out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(3))
        given.buffer.write(stdin.encode())
        given.seek(0)
        with pytest.MonkeyPatch.context() as patch:
            for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
                patch.setattr(sys, name, stream)
            for name, value in environment.items():
                patch.setenv(name, value)
            if cwd is not None:
                patch.chdir(cwd)
            code = main(arguments)
        said, told = (bytes_of(stream).decode() for stream in (out, err))
        return subprocess.CompletedProcess(["kernelprof", *arguments], code, said, told)

    def bytes_of(stream: io.TextIOWrapper) -> bytes:
        stream.flush()
        stream.seek(0)
        return stream.buffer.read()

    return run


@pytest.fixture(scope="session")
def run_process(cli_environment: dict[str, str]) -> RunCli:
    """Run ``python -m kernelprof`` in a child process, where that is what is tested."""

    def run(
        *arguments: str, stdin: str = "", cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kernelprof", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**cli_environment, **environment},
            cwd=cwd,
            timeout=120,
            check=False,
        )

    return run
