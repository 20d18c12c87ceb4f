"""Predictions to compare, made up of a few counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.prediction import Amount, LineWork, Predicted, PredictedAccess
from kernelprof.model.snapshot import Inputs, KernelSnapshot, Snapshot

FILE = "k.cu"
SPECIFICATION: dict[str, Any] = {"kernel": "scale", "reference": "scale", "sizes": {"N": 4096}}
TEXT = ("one", "two", "three", "four")
CHANGED = ("one", "other", "three", "four")
COUNTS: dict[str, float] = {
    "global_sectors": 4096,
    "global_load_sectors": 2048,
    "global_load_requests": 512,
    "instructions": 8192,
    "shared_wavefronts": 1024,
    "shared_wavefronts_ideal": 1024,
    "local_sectors": 0,
    "threads_per_instruction": 32,
    "block_limit_registers": 8,
    "block_limit_shared_mem": 16,
    "block_limit_warps": 8,
    "block_limit_blocks": 32,
}
"""What the kernel counts whose text is ``TEXT``."""


def amount(value: float, margin: float = 0) -> Amount:
    return Amount(value, value - margin, value + margin)


def access(
    line: int,
    *,
    sectors: float | None = None,
    wavefronts: float | None = None,
    requests: float = 16,
    ideal: float = 10,
    space: str = "global",
    kind: str = "load",
    file: str = FILE,
) -> PredictedAccess:
    """What a line asks for; the ideal is 10 of either."""
    return PredictedAccess(
        file=file,
        line=line,
        space=space,
        kind=kind,
        bytes_a_thread=4,
        instructions=1,
        requests=amount(requests),
        sectors=None if sectors is None else amount(sectors),
        wavefronts=None if wavefronts is None else amount(wavefronts),
        ideal=amount(ideal),
    )


def predicted(
    text: tuple[str, ...],
    *accesses: PredictedAccess,
    lines: tuple[LineWork, ...] = (),
    arch: str = "sm_90",
    code: str = "a",
) -> Predicted:
    return Predicted(
        arch=arch,
        code=code,
        blocks=16,
        blocks_run=16,
        file=FILE,
        text=text,
        accesses=accesses,
        lines=lines,
    )


def kernel(counted: Predicted, spread: dict[str, Any] | None = None, **metrics: float) -> Any:
    """A predicted kernel with these metrics."""
    return KernelSnapshot(
        name="scale",
        grid=(16, 1, 1),
        block=(256, 1, 1),
        launches=1,
        verdict=Verdict(Status.INCONCLUSIVE, None, Confidence.LOW),
        metrics=dict(metrics),
        spread=spread or {},
        passed=True,
        inputs=Inputs(FILE, counted.code * 64, SPECIFICATION),
        predicted=counted,
    )


def side(*kernels: KernelSnapshot, origin: str = FILE) -> Snapshot:
    return replace(Snapshot(origin), kernels=kernels)
