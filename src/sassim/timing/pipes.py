"""Cycles of an SM's pipes by instruction: ``data/pipes.toml``, and the table of opcodes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sassim.gpu import WARP_SIZE
from sassim.interpreter.operations.warpgroup import WARP_ROWS, is_product, product_shape
from sassim.opcodes import find_opcode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sassim.gpu import GpuModel
    from sassim.sass.listing import Instruction

_FILE: Final = Path(__file__).parents[1] / "data" / "pipes.toml"


@dataclass(frozen=True, slots=True)
class Pipe:
    """A pipe, and threads of an instruction that it takes per cycle and SM."""

    name: str
    lanes: float = 0.0
    lanes_of: str = ""


@cache
def load_pipes() -> Mapping[str, Pipe]:
    """Return all pipes by name."""
    tables = tomllib.loads(_FILE.read_text("utf-8"))["pipe"]
    return {each["name"]: Pipe(**each) for each in tables}


@cache
def load_latencies() -> Mapping[str, float]:
    """Cycles from issue to result where the code waits for a scoreboard, by what it is."""
    cycles: dict[str, float] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["latency"]
    return cycles


class PipeCosts:
    """Cycles of an SM's pipes by instruction, on one architecture."""

    def __init__(self, gpu: GpuModel) -> None:
        self._gpu = gpu
        self._lanes = {name: self._lanes_of(pipe) for name, pipe in load_pipes().items()}
        self._costs: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, float], ...]] = {}

    def _lanes_of(self, pipe: Pipe) -> float:
        own = getattr(self._gpu, pipe.lanes_of) if pipe.lanes_of else pipe.lanes
        # Where FP64 does not run at half the FP32 rate it has two lanes.
        return float(own or FEW_LANES)

    def cycles_by_pipe(self, i: Instruction) -> tuple[tuple[str, float], ...]:
        """Return pipes with the cycles of an SM, of all four parts, that an instruction takes."""
        key = i.opcode, i.modifiers
        if key not in self._costs:
            self._costs[key] = tuple(self._compute(i))
        return self._costs[key]

    def _compute(self, i: Instruction) -> list[tuple[str, float]]:
        row = find_opcode(i.opcode)
        if row.cost == "shape":
            return [("tensor", self._tensor_cycles(i))]
        times = float(row.cost or 1.0)
        if any(f"twice-if-{each}" in row.flags for each in i.modifiers):
            times = 2.0
        return [(name, times * WARP_SIZE / self._lanes[name]) for name in row.pipes]

    def _tensor_cycles(self, i: Instruction) -> float:
        """Cycles of the tensor cores of an SM for one instruction of a warp."""
        if is_product(i):
            _, columns, depth = product_shape(i)
            rate = self._gpu.tensor_fmas.get(_operand_type(i)) or FEW_LANES
            return WARP_ROWS * columns * depth / rate
        rates = self._gpu.tensor_fmas
        kind = _operand_type(i)
        rate = rates.get(kind) or rates.get("float16") or FEW_LANES
        return _multiply_adds(i) / rate * self._gpu.mma_sync


FEW_LANES: Final = 2.0
"""FP64 lanes of an SM where FP64 is there for compatibility alone (CUDA C++ Programming Guide,
"Throughput of Native Arithmetic Instructions", compute capability 7.5, 8.6, 8.9 and 12.0)."""


_OPERANDS: Final = "operands-"


def _operand_type(i: Instruction) -> str:
    for flag in find_opcode(i.opcode).flags:
        if flag.startswith(_OPERANDS):
            return flag.removeprefix(_OPERANDS)
    if i.has("TF32"):
        return "tf32"
    return "bfloat16" if i.has("BF16") else "float16"


def _multiply_adds(i: Instruction) -> float:
    """Of a shape such as 16816: 16 by 8 by 16."""
    for each in i.modifiers:
        if each.isdigit() and len(each) in (3, 4, 5):
            m, n = (16, 8) if each.startswith("16") else (8, 8)
            k = each[len(f"{m}{n}") :]
            return float(m * n * int(k or 16))
    return 2048.0
