"""Predicted gates of changes that a sample of blocks, or a check at small sizes, can miss."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cuda.bindings")

ROOT = Path(__file__).parents[3]
KERNELS = tomllib.loads((Path(__file__).parent / "hidden.toml").read_text("utf-8"))["kernel"]
CASES = [
    pytest.param(
        kernel["file"], kind, case, id=f"{Path(kernel['file']).stem} {kind} {case['name']}"
    )
    for kernel in KERNELS
    for kind in ("hidden", "harmless")
    for case in kernel[kind]
]
LEFT_OPEN: frozenset[str] = frozenset()
"""Harmless changes for which the gate asks for a measurement: at most two."""


@pytest.mark.parametrize(("file", "kind", "case"), CASES)
@pytest.mark.slow("predicts two kernels for each")
def test_gate(kernelprof, tmp_path: Path, file: str, kind: str, case: dict[str, Any]) -> None:
    text = (ROOT / file).read_text("utf-8")
    assert case["old"] in text
    begin = text.index("__global__")
    for beside in (ROOT / file).parent.glob("*.py"):
        shutil.copy(beside, tmp_path)
    changed = tmp_path / "after.cu"
    changed.write_text(text[:begin] + text[begin:].replace(case["old"], case["new"]), "utf-8")
    left_open = case["name"] in LEFT_OPEN
    # 4: a clock that the kernel waits for is not predicted at all.
    allowed = {1, 3, 4} if kind == "hidden" else {3} if left_open else {0}
    kernelprof(f"gate {ROOT / file} {changed} --predict", code=allowed)
