"""Commands whose JSON is a contract, over every capture of this repository.

Each case is the words of one command, with paths relative to the repository, so that the same words
run on any version of kernelprof that can predict.
"""

from __future__ import annotations

import io
import json
import os
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

from tests.support.wheels import without_wheels

ROOT = Path(__file__).parents[2]
CAPTURES = "tests/captures"
CHANGES = f"{CAPTURES}/h200_changes"
RUNGS = "src/kernelprof/recorded/h200"
PAIRS = "benchmarks/corpus/recorded/h200-pairs"
SCRATCH = "build/answers"
NO_EXPORT = ("source_page", "sanitizer", "ncu_metric_lists", "peers")
PLANTED = (
    ("coalesced", "naive"),
    ("tile", "tile-rolled"),
    ("tile-rolled", "tile-barrier"),
    ("padded", "padded-0"),
    ("four-blocks", "three-blocks"),
    ("walk", "walk-far"),
    ("chain", "chain-strides"),
)

Case = tuple[str, ...]


def cases() -> list[Case]:
    """Every command, in a fixed order."""
    return [*_diagnoses(), *_comparisons(), *_gates(), *_histories(), *_lists()]


def _diagnoses() -> list[Case]:
    found: list[Case] = [("diagnose", target, "--format", "json") for target in _targets()]
    series = f"{CAPTURES}/gemm_series"
    full, eight = f"{series}.full.raw.csv", f"{series}.eight-metrics.raw.csv"
    found += [
        ("diagnose", eight, full, "--merge", "--format", "json"),
        ("diagnose", eight, full, "--format", "json"),
        ("diagnose", eight, "--preset", "full", "--format", "json"),
        ("diagnose", full, "--kernel", "gemm_tiled", "--format", "json"),
        ("diagnose", "cuda/ladder/03_shared_tile.cu", "--format", "json"),
        ("diagnose", full, "--kernel", "no such kernel", "--format", "json"),
        ("diagnose", "README.md", "--format", "json"),
        ("diagnose", "tests/gpu/launch/right.cu", "--format", "json"),
    ]
    return found


def _targets() -> list[str]:
    """Exports and capture directories."""
    found: list[str] = []
    for folder in (CAPTURES, RUNGS, PAIRS):
        for path in sorted((ROOT / folder).rglob("*")):
            inside = path.relative_to(ROOT)
            if set(inside.parts) & set(NO_EXPORT):
                continue
            in_directory = (path.parent / "manifest.json").is_file()
            is_export = path.name.endswith((".csv", ".csv.gz", ".ncu-rep")) and not in_directory
            if path.name == "manifest.json":
                found.append(inside.parent.as_posix())
            elif is_export:
                found.append(inside.as_posix())
    return found


def _labels() -> list[str]:
    return sorted(path.name for path in (ROOT / CHANGES).iterdir() if path.is_dir())


def _rungs() -> list[str]:
    return sorted(path.name for path in (ROOT / RUNGS).iterdir() if path.is_dir())


def _comparisons() -> list[Case]:
    sides = [(f"{CHANGES}/{old}/1", f"{CHANGES}/{new}/1") for old, new in PLANTED]
    rungs = _rungs()
    sides += [(f"{RUNGS}/{a}", f"{RUNGS}/{b}") for a, b in pairwise(rungs)]
    full = f"{CAPTURES}/gemm_series.full.raw.csv"
    sides += [
        (full, f"{CAPTURES}/gemm_series.eight-metrics.raw.csv"),
        (full, f"{CAPTURES}/gemm_series.same-code-13x.raw.csv"),
    ]
    return [("compare", old, new, "--format", "json") for old, new in sides]


def _gates() -> list[Case]:
    """A baseline of each change's first run, and candidates that pass and that do not."""
    found: list[Case] = []
    for label in _labels():
        file = f"{SCRATCH}/{label}.json"
        found.append(("baseline", "save", f"{CHANGES}/{label}/1", "-o", file, "--force"))
        found += [("gate", file, f"{CHANGES}/{label}/{run}", "--format", "json") for run in "23"]
        runs = [f"{CHANGES}/{label}/{run}" for run in "234"]
        found.append(("baseline", "calibrate", file, *runs))
        found.append(("gate", file, f"{CHANGES}/{label}/5", "--format", "json"))
    for old, new in PLANTED:
        file = f"{SCRATCH}/{old}.json"
        found.append(("gate", file, f"{CHANGES}/{new}/1", "--format", "json"))
        found.append(("gate", f"{CHANGES}/{old}/1", f"{CHANGES}/{new}/2", "--format", "json"))
    full = f"{CAPTURES}/gemm_series.full.raw.csv"
    return [*found, ("gate", full, full, "--format", "json")]


def _histories() -> list[Case]:
    return [
        ("history", f"{CHANGES}/{label}", "--no-cache", "--format", "json") for label in _labels()
    ]


def _lists() -> list[Case]:
    return [("ladder", "list", "--format", "json")]


def answer(case: Case) -> dict[str, Any]:
    """The exit code of a command and the JSON that it prints, if it does."""
    from kernelprof.cli.main import main
    from kernelprof.prediction import machine_code

    out, told = io.StringIO(), io.StringIO()
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        Path(SCRATCH).mkdir(parents=True, exist_ok=True)
        # As on a machine with neither a GPU nor what predicts a kernel.
        absent = mock.patch.object(machine_code, "find_toolchain", without_wheels)
        with absent, redirect_stdout(out), redirect_stderr(told):
            code = main(list(case))
    finally:
        os.chdir(here)
    text = out.getvalue()
    return {
        "exit": int(code),
        "document": json.loads(text) if text.startswith(("{", "[")) else None,
    }
