"""Which pipes of an SM an instruction takes, and for how long, from ``data/instructions.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof.analysis.metrics.architectures import EVERY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.analysis.metrics.architectures import Architecture
    from kernelprof.predict.sass.listing import Instruction

_FILE: Final = Path(__file__).parents[2] / "data" / "instructions.toml"
_MATRICES: Final = ("HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA")
_SLOWER: Final = 1.5
"""Cycles of the tensor pipe for ``mma.sync`` against what its multiply-adds take by ``wgmma``
(``docs/verdicts.md``, products on tensor cores)."""


@dataclass(frozen=True, slots=True)
class Pipe:
    """A pipe: threads of an instruction that it takes per cycle and SM, and its opcodes."""

    name: str
    opcodes: tuple[str, ...] = ()
    lanes: float = 0.0
    lanes_of: str = ""
    twice: tuple[str, ...] = ()
    half: tuple[str, ...] = ()


@cache
def pipes() -> tuple[Pipe, ...]:
    """All pipes."""
    return tuple(_pipe(**each) for each in tomllib.loads(_FILE.read_text("utf-8"))["pipe"])


def _pipe(**table: Any) -> Pipe:
    """A table of the file; its lists become tuples."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
    return Pipe(**values)


@cache
def latencies() -> Mapping[str, float]:
    """Cycles from issue to result where the code waits for a scoreboard, by what it is."""
    found: dict[str, float] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["latency"]
    return found


class Costs:
    """Cycles of an SM's pipes by instruction, on one architecture."""

    def __init__(self, known: Architecture) -> None:
        self._known = known
        self._lanes = {each.name: self._lanes_of(each) for each in pipes()}
        self._found: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, float], ...]] = {}

    def _lanes_of(self, pipe: Pipe) -> float:
        own = getattr(self._known, pipe.lanes_of) if pipe.lanes_of else pipe.lanes
        # Where FP64 does not run at half the FP32 rate it has two lanes.
        return float(own or FEW_LANES)

    def of(self, i: Instruction) -> tuple[tuple[str, float], ...]:
        """Pipes with the cycles of an SM, of all four parts together, that an instruction takes."""
        key = i.opcode, i.modifiers
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = tuple(self._of(i))
        return found

    def _of(self, i: Instruction) -> list[tuple[str, float]]:
        if i.opcode in _MATRICES:
            return [("tensor", self._matrices(i))]
        found = []
        for pipe in pipes():
            if i.opcode not in pipe.opcodes and i.opcode not in pipe.half:
                continue
            times = 0.5 if i.opcode in pipe.half else 1.0
            if any(f"{i.opcode}.{each}" in pipe.twice for each in i.modifiers):
                times = 2.0
            found.append((pipe.name, times * EVERY.warp_size / self._lanes[pipe.name]))
        return found

    def _matrices(self, i: Instruction) -> float:
        """Cycles of the tensor cores of an SM for one instruction of a warp."""
        rates = self._known.tensor_fmas
        kind = _precision(i)
        rate = rates.get(kind) or rates.get("float16") or FEW_LANES
        return _multiply_adds(i) / rate * _SLOWER


FEW_LANES: Final = 2.0
"""FP64 lanes of an SM where FP64 is there for compatibility alone (CUDA C++ Programming Guide,
"Throughput of Native Arithmetic Instructions", compute capability 7.5, 8.6, 8.9 and 12.0)."""


def _precision(i: Instruction) -> str:
    if i.opcode == "IMMA":
        return "int8"
    if i.opcode == "DMMA":
        return "float64"
    if i.opcode == "QMMA":
        return "float8"
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
