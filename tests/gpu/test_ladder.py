"""The ladders on a GPU: cuBLAS as their ceiling, and rungs in turns with it."""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kernelprof.ladder.bench import time_interleaved
from kernelprof.ladder.ceiling import Cublas
from kernelprof.ladder.product import Product, count_flops
from kernelprof.ladder.registry import find_ladder
from kernelprof.ladder.results import from_json, ratio_of
from kernelprof.launch.processes import Interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.conftest import RunCli
    from tests.gpu.conftest import Results

BF16 = find_ladder("bf16").product
SIZE = 8192
TORCH = """
import json, torch
a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in "ab")
for _ in range(5):
    a @ b.T
pairs = [[torch.cuda.Event(enable_timing=True) for _ in "12"] for _ in range(20)]
for begin, end in pairs:
    begin.record()
    a @ b.T
    end.record()
torch.cuda.synchronize()
print(json.dumps([begin.elapsed_time(end) * 1e6 for begin, end in pairs]))
"""


@pytest.fixture(scope="module", autouse=True)
def _needs_cupy(results: Results) -> None:
    del results
    for name, extra in (("pycuda", "gpu"), ("cupy", "ladder")):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install 'kernelprof[{extra}]'")


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as found:
        yield found


@pytest.mark.parametrize("product", [Product(), BF16], ids=lambda product: product.precision)
def test_cublas_is_of_the_precision_that_is_asked_for(
    product: Product, interrupts: Interrupts, say: Callable[[str], None]
) -> None:
    """Its error is that of one rounding of the result: not of TF32, and not of sums in BF16."""
    with Cublas(product, interrupts) as cublas:
        found = cublas.ceiling(4096)
    say(f"{product.precision}: {found.relative_error:.2e}, {found.timing.median_ns:,.0f} ns")
    assert found.relative_error < product.about.most_error / 2
    assert found.cublas is not None
    assert found.timing.launches == 20
    assert found.timing.high_ns < 1.5 * found.timing.low_ns


def test_the_ceiling_in_bf16_is_as_fast_as_the_product_of_pytorch(
    interrupts: Interrupts, say: Callable[[str], None]
) -> None:
    """PyTorch asks cuBLASLt or ``cublasGemmEx`` for it, with a workspace of its own."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    normal = Product("bfloat16", "nt", "normal")
    ours, theirs = [], []
    with Cublas(normal, interrupts) as cublas:
        for _ in range(3):  # in turns: a warm chip at its power limit is up to 10 % slower
            cublas.times(SIZE, 3)
            ours.append(statistics.median(cublas.times(SIZE, 20)))
            done = subprocess.run(
                [sys.executable, "-c", TORCH],
                capture_output=True,
                text=True,
                check=True,
                timeout=300,
            )
            theirs.append(statistics.median(json.loads(done.stdout)))
    rates = [f"{count_flops(SIZE) / min(each) * 1e-3:.1f}" for each in (ours, theirs)]
    say(f"cublasGemmEx {rates[0]}, torch {rates[1]}")
    assert min(ours) < 1.03 * min(theirs)


def test_cublas_in_turns_with_itself_is_equally_fast(
    interrupts: Interrupts, say: Callable[[str], None]
) -> None:
    """Two processes that are asked in turns: what one loses by going first or second would show."""
    with Cublas(BF16, interrupts) as one, Cublas(BF16, interrupts) as other:
        found = time_interleaved(
            lambda count: one.times(SIZE, count),
            lambda count: other.times(SIZE, count),
            SIZE,
            BF16,
        )
    ratio = ratio_of(found)
    say(f"{ratio.median:.4f} ({ratio.low:.4f} to {ratio.high:.4f})")
    assert ratio.median == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("rung", ["12", "bf16/1"])
def test_a_rung_is_timed_in_turns_with_cublas(
    rung: str, run_cli: RunCli, tmp_path: Path, say: Callable[[str], None]
) -> None:
    file = tmp_path / "found.json"
    options = ("--size", "2048", "--no-profile", "--json", str(file))
    done = run_cli("ladder", "run", rung, *options)
    assert done.returncode == 0, done.stderr
    found = from_json(file.read_text("utf-8"), file.name)
    (climbed,) = found.rungs
    (beside,) = climbed.beside
    ratio: Any = ratio_of(beside)
    say(f"{climbed.file}: {ratio.median:.3f} of cuBLAS ({ratio.low:.3f} to {ratio.high:.3f})")
    assert beside.size == 2048
    assert len(beside.rounds) == 9
    assert climbed.timing == beside.timing
    assert ratio.low <= ratio.median <= ratio.high < 1.2
    assert ratio.high < 1.2 * ratio.low
    assert climbed.correctness is not None
    assert climbed.correctness.passed
