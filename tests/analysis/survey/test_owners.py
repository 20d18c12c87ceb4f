"""What launches belong to, by ranges as PyTorch and the survey push them in training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kernelprof.analysis.survey.owners import summarize_kernels
from kernelprof.model.trace import CALLS, KERNELS, RANGES, Configuration, Trace

if TYPE_CHECKING:
    from kernelprof.model.survey import Owner

LINE = "kernelprof.line\x1f"
MODULE = "kernelprof.module\x1f"
HERE = "/project/model.py"


@dataclass
class Recording:
    """Ranges in which kernels of 10 ns are launched."""

    texts: list[str] = field(default_factory=lambda: [""])
    ranges: list[tuple[int, ...]] = field(default_factory=list)
    calls: list[tuple[int, ...]] = field(default_factory=list)
    now: int = 0

    def within(self, *names: str, launches: int = 1, sequence: int = 0) -> None:
        """Ranges, the outer ones first, with launches in the innermost one; all have one number."""
        begin = self.now + 1
        self.now += 100
        for depth, name in enumerate(names):
            self.texts.append(name)
            number = sequence if "::" in name or "Backward" in name else 0
            place = len(self.texts) - 1
            self.ranges.append((0, begin + depth, self.now - depth, 7, place, 0, number, depth))
        for at in range(launches):
            time = begin + 40 + at
            self.calls.append((0, time, time + 1, 7, len(self.calls) + 1, 0, 0))

    def trace(self) -> Trace:
        """One kernel for each call."""
        kernels = [
            (0, start + 1000 * number, start + 1000 * number + 10, number, 0, 0, 0, 0, 0, 0)
            for _, start, _, _, number, _, _ in self.calls
        ]
        return Trace(
            processes=(),
            devices={},
            configurations=(Configuration("gemm", "gemm", (1, 1, 1), (1, 1, 1)),),
            texts=tuple(self.texts),
            kernels=np.array(kernels, KERNELS),
            calls=np.array(self.calls, CALLS),
            ranges=np.array(self.ranges, RANGES),
        )


@pytest.fixture
def groups() -> dict[tuple[str, str], Owner]:
    """A product in a module, one beside it, and both backward."""
    recording = Recording()
    attention = f"{MODULE}Attention\x1flayers.0\x1f/project/train.py:9"
    recording.within(attention, f"{LINE}{HERE}:31", "aten::matmul", "aten::mm", sequence=5)
    recording.within(f"{LINE}{HERE}:40", "aten::matmul", "aten::mm", launches=3, sequence=6)
    engine = "autograd::engine::evaluate_function: MmBackward0"
    recording.within(engine, "MmBackward0", "aten::mm", launches=4, sequence=6)
    recording.within(engine, "MmBackward0", "aten::mm", launches=2, sequence=5)
    recording.within("aten::add_", launches=10)
    _, found = summarize_kernels(recording.trace())
    return {(each.kind, each.name): each for each in found}


def test_lines_have_the_launches_of_their_operators(groups: dict[tuple[str, str], Owner]) -> None:
    lines = {name: each for (kind, name), each in groups.items() if kind == "line"}
    assert {name: (each.place, each.launches) for name, each in lines.items()} == {
        "model.py:31": (f"{HERE}:31", 1),
        "model.py:40": (f"{HERE}:40", 3),
        "model.py:40, backward": (f"{HERE}:40", 4),
        "model.py:31, backward": (f"{HERE}:31", 2),
    }
    assert lines["model.py:40, backward"].share == pytest.approx(4 / 20)


def test_operators_and_modules_are_as_without_lines(groups: dict[tuple[str, str], Owner]) -> None:
    launches = {key: each.launches for key, each in groups.items() if key[0] != "line"}
    assert launches == {
        ("operator", "aten::matmul"): 4,
        ("operator", "MmBackward0"): 6,
        ("operator", "aten::add_"): 10,
        ("module", "layers.* (Attention)"): 1,
        ("module", "layers.* (Attention), backward"): 2,
    }
