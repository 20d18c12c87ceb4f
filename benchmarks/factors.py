"""Time and capture the programs of ``cuda/factors``: ``python3 -m benchmarks.factors OUT_DIR``.

Each program plants causes of slowness, and each of its macros ``FIX_A`` to ``FIX_C`` removes one.
All subsets of the fixes are compiled in parallel, then timed and captured with ncu one at a time.
``OUT_DIR/factors.tgz`` has ``times.json`` and ``NAME.VARIANT.raw.csv.gz`` for each variant; the
variant is the letters of its fixes, ``0`` without any. Needs nvcc, ncu and the standard library.

All programs need about 20 minutes of GPU time; ``--part 1/3`` takes every third program.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SOURCES: Final = Path(__file__).parents[1] / "cuda" / "factors"
NVCC: Final = ("nvcc", "-O3", "-arch=sm_90", "-lineinfo")
NCU: Final = (
    *("ncu", "--clock-control", "none", "--set", "full", "--import-source", "no"),
    *("-k", "regex:^k$", "--launch-skip", "1", "--launch-count", "3", "--csv", "--page", "raw"),
)
TOLERANCE: Final = 1e-3
"""Relative difference from the variant without fixes; a program may state its own."""

MOST_BYTES: Final = 15_500_000
BUILD_S: Final = 120
RUN_S: Final = 60
CAPTURE_S: Final = 120
PACK_S: Final = 10


@dataclass(frozen=True)
class Variant:
    """One program with some of its causes removed."""

    source: Path
    fixes: str

    @property
    def name(self) -> str:
        return f"{self.source.stem}.{self.fixes or '0'}"


def read_header(source: Path) -> dict[str, Any]:
    """Return the TOML block in the comments at the start of a program."""
    lines = source.read_text(encoding="utf-8").split("// /// factors\n", 1)[1].split("// ///\n", 1)
    return tomllib.loads("\n".join(line[3:] for line in lines[0].splitlines()))


def list_variants(source: Path) -> list[Variant]:
    """Return a variant for each subset of the fixes, the one without fixes first."""
    causes = sorted(read_header(source).get("causes", ()))
    return [
        Variant(source, "".join(fixes))
        for size in range(len(causes) + 1)
        for fixes in itertools.combinations(causes, size)
    ]


def run_command(command: Sequence[str | Path], limit_s: float) -> str:
    """Return the output of a command; raise ``RuntimeError`` with the end of its messages."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{command[0]} took more than {limit_s:.0f} s") from None
    except OSError as error:
        raise RuntimeError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        messages = (done.stderr or done.stdout).strip()[-2000:]
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {messages}")
    return done.stdout


def build(variant: Variant, folder: Path) -> Path:
    """Compile a variant and return its program."""
    program = folder / variant.name
    macros = [f"-DFIX_{fix}" for fix in variant.fixes]
    run_command([*NVCC, *macros, "-o", program, variant.source], BUILD_S)
    return program


def measure(program: Path, runs: int) -> dict[str, Any]:
    """Run a program several times; return its line with the least of the medians, in us."""
    lines = [json.loads(run_command([program], RUN_S)) for _ in range(runs)]
    return {**min(lines, key=lambda line: line["us"]), "runs_us": [line["us"] for line in lines]}


def compare_results(result: Mapping[str, Any], base: Mapping[str, Any], tolerance: float) -> str:
    """Return how a result differs from that without fixes; empty if it does not."""
    limit = max(tolerance, 1e-9)
    first, second = base["checksum"], result["checksum"]
    if not abs(first - second) <= limit * max(abs(first), abs(second)):
        return f"checksum {second} instead of {first}"
    mean = sum(abs(value) for value in base["sampled"]) / len(base["sampled"])
    for index, (one, other) in enumerate(zip(base["sampled"], result["sampled"], strict=True)):
        if not abs(one - other) <= limit * max(abs(one), abs(other), mean):
            return f"sample {index} is {other} instead of {one}"
    return ""


def capture(program: Path, target: Path) -> None:
    """Profile three launches of the kernel and write ncu's raw page, compressed."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        run_command([*NCU, "--log-file", log, program], CAPTURE_S)
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    starts = [index for index, line in enumerate(lines) if line.startswith('"ID"')]
    if not starts:
        raise RuntimeError(f"ncu wrote no table: {''.join(lines)[-1000:]}")
    rows = [line for line in lines[starts[0] :] if line.startswith('"')]
    target.write_bytes(gzip.compress("".join(rows).encode(), mtime=0))


class Session:
    """One run of this script: its time limit, results and failures."""

    def __init__(self, output: Path, seconds: float) -> None:
        self.output = output
        self.ends = time.monotonic() + seconds
        self.results: dict[str, dict[str, Any]] = {}
        self.failures: list[dict[str, str]] = []
        self.not_timed: list[str] = []
        self.not_captured: list[str] = []

    def has_time(self, seconds: float) -> bool:
        """Tell whether a step of this length ends before results must be packed."""
        return time.monotonic() + seconds + PACK_S < self.ends

    def fail(self, variant: Variant, step: str, error: object) -> None:
        self.failures.append({"variant": variant.name, "step": step, "error": str(error)})
        sys.stderr.write(f"{variant.name}: {step}: {error}\n")

    def time_variants(
        self, builds: Mapping[Variant, Future[Path]], runs: int
    ) -> dict[Variant, Path]:
        """Time each variant that compiles; return the programs that ran."""
        programs = {}
        for variant, future in builds.items():
            try:
                program = future.result()
            except RuntimeError as error:
                self.fail(variant, "build", error)
                continue
            if not self.has_time(runs * 2):
                self.not_timed.append(variant.name)
                continue
            try:
                result = measure(program, runs)
            except (RuntimeError, ValueError) as error:
                self.fail(variant, "run", error)
                continue
            programs[variant] = program
            self.results[variant.name] = result
            self.check(variant, result)
        return programs

    def check(self, variant: Variant, result: Mapping[str, Any]) -> None:
        """Compare a result with that of the variant without fixes."""
        base = self.results.get(f"{variant.source.stem}.0")
        if base is None:
            self.fail(variant, "compare", "the variant without fixes has no result")
            return
        tolerance = read_header(variant.source).get("tolerance", TOLERANCE)
        difference = compare_results(result, base, tolerance)
        if difference:
            self.fail(variant, "compare", difference)

    def capture_variants(self, programs: Mapping[Variant, Path]) -> None:
        """Profile variants with few fixes first, as long as time is left."""
        longest = 5.0
        for variant in sorted(programs, key=lambda each: len(each.fixes)):
            if not self.has_time(1.2 * longest):
                self.not_captured.append(variant.name)
                continue
            start = time.monotonic()
            try:
                capture(programs[variant], self.output / f"{variant.name}.raw.csv.gz")
            except RuntimeError as error:
                self.fail(variant, "capture", error)
            longest = max(longest, time.monotonic() - start)

    def write(self, programs: Sequence[Path]) -> Path:
        """Write ``times.json`` and pack it with the captures, which are removed."""
        document = {
            "programs": {source.stem: read_header(source) for source in programs},
            "results": self.results,
            "failures": self.failures,
            "not_timed": self.not_timed,
            "not_captured": self.not_captured,
        }
        captures = sorted(self.output.glob("*.raw.csv.gz"))
        room = MOST_BYTES - len(json.dumps(document))
        packed = []
        for each in captures:
            room -= each.stat().st_size + 1024
            if room < 0:
                self.not_captured.append(f"{each.name.removesuffix('.raw.csv.gz')} (archive full)")
            else:
                packed.append(each)
        times = self.output / "times.json"
        times.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        archive = self.output / "factors.tgz"
        with tarfile.open(archive, "w:gz", compresslevel=1) as files:
            for each in (times, *packed):
                files.add(each, each.name)
        for each in packed:
            each.unlink()
        return archive


def parse_part(text: str) -> tuple[int, int]:
    """Return index (from 0) and number of parts of ``I/N``."""
    index, _, number = text.partition("/")
    if not (index.isdigit() and number.isdigit() and 1 <= int(index) <= int(number)):
        raise argparse.ArgumentTypeError(f"{text}: write I/N, such as 1/3")
    return int(index) - 1, int(number)


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks.factors",
        description="Time and capture the programs of cuda/factors on this machine's GPU.",
    )
    parser.add_argument("output", type=Path, metavar="OUT_DIR")
    parser.add_argument("--part", type=parse_part, default=(0, 1), metavar="I/N")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these programs")
    parser.add_argument("--runs", type=int, default=3, help="runs of each variant (default 3)")
    parser.add_argument("--seconds", type=float, default=530, help="time limit (default 530)")
    parser.add_argument("--no-captures", action="store_true", help="only time the variants")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel builds")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit with 1 if a variant failed."""
    options = parse_options(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    session = Session(options.output, options.seconds)
    index, parts = options.part
    sources = sorted(SOURCES.glob("*.cu"))[index::parts]
    if options.only:
        sources = [source for source in sources if source.stem in options.only]
    variants = [variant for source in sources for variant in list_variants(source)]
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(max_workers=options.jobs) as pool,
    ):
        builds = {each: pool.submit(build, each, Path(folder)) for each in variants}
        programs = session.time_variants(builds, options.runs)
        if not options.no_captures:
            session.capture_variants(programs)
    archive = session.write(sources)
    sys.stderr.write(
        f"{len(variants)} variants, {len(session.results)} timed, {len(session.failures)} "
        f"failures, {len(session.not_timed)} not timed, {len(session.not_captured)} not "
        f"captured; wrote {archive} of {archive.stat().st_size} bytes\n"
    )
    return 1 if session.failures else 0


if __name__ == "__main__":
    sys.exit(main())
