"""What only GPUs from compute capability 9.0 on have: TMA, clusters, warpgroup products."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from tests.conftest import RunCli
    from tests.gpu.conftest import Results

SOURCES = Path(__file__).parent / "launch"


@pytest.fixture(scope="module", autouse=True)
def _needs_hopper(results: Results) -> None:
    del results
    for module in ("pycuda", "cuda.bindings"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install 'kernelprof[gpu]'")
    from pycuda import driver

    driver.init()
    if driver.Device(0).compute_capability() < (9, 0):
        pytest.skip("this GPU has neither TMA nor clusters")


def _checked(run_cli: RunCli, source: Path, *options: str) -> str:
    done = run_cli("diagnose", str(source), *options)
    assert done.returncode in {0, 3}, done.stderr
    assert "checked against" in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "name", ["tma_copy", "tma_row", "cluster_multicast", "float8", "more_shared"]
)
def test_a_kernel_gives_the_result_of_its_reference(name: str, run_cli: RunCli) -> None:
    _checked(run_cli, SOURCES / f"{name}.cu")


def test_what_tma_swizzles_the_kernel_finds(run_cli: RunCli, tmp_path: Path) -> None:
    shutil.copy(SOURCES / "tma.cuh", tmp_path)
    text = (SOURCES / "tma_copy.cu").read_text("utf-8")
    for old, new in (
        ("tma_copy<false>", "tma_copy<true>"),
        ("box = [64, 64] }", 'box = [64, 64], swizzle = "128B" }'),
    ):
        assert old in text
        text = text.replace(old, new)
    swizzled = tmp_path / "swizzled.cu"
    swizzled.write_text(text, "utf-8")
    _checked(run_cli, swizzled)
    # Read in the other order, the copy is wrong: the swizzle is really there.
    swizzled.write_text(text.replace("tma_copy<true>", "tma_copy<false>"), "utf-8")
    done = run_cli("diagnose", str(swizzled))
    assert done.returncode == 2
    assert "result is wrong" in done.stderr


def test_a_warpgroup_product_is_right_and_compiled_for_this_gpu(
    run_cli: RunCli, tmp_path: Path
) -> None:
    folder = tmp_path / "capture"
    done = run_cli("profile", str(SOURCES / "wgmma.cu"), "-o", str(folder))
    assert done.returncode == 0, done.stderr
    manifest = read_manifest(folder)
    assert manifest.correctness is not None
    assert manifest.correctness.largest_error is not None
    # Products of bfloat16 are exact in float32, and so are most sums of 256 of them.
    assert manifest.correctness.largest_error < 1e-5
    assert manifest.source is not None
    assert manifest.source.compile_flags[0] == "-gencode=arch=compute_90a,code=sm_90a"


def test_clusters_of_sixteen_are_asked_for(run_cli: RunCli, tmp_path: Path) -> None:
    """Not portable, and an H100 or H200 has room for them."""
    shutil.copy(SOURCES / "tma.cuh", tmp_path)
    shutil.copy(SOURCES / "cluster_multicast.py", tmp_path)
    text = (SOURCES / "cluster_multicast.cu").read_text("utf-8")
    for old, new in (
        ("cluster = [2]", "cluster = [16]"),
        ("rows = 12", "rows = 16"),
        ('asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));', "rank = blockIdx.x % 2;"),
        ("load_box_for(0b11, ", "load_box_for(0b11 << (blockIdx.x % 16 & ~1), "),
    ):
        assert old in text
        text = text.replace(old, new)
    source = tmp_path / "cluster_multicast.cu"
    source.write_text(text, "utf-8")
    _checked(run_cli, source)


def test_a_kernel_with_cluster_dims_needs_no_key(run_cli: RunCli, tmp_path: Path) -> None:
    shutil.copy(SOURCES / "tma.cuh", tmp_path)
    shutil.copy(SOURCES / "cluster_multicast.py", tmp_path)
    text = (SOURCES / "cluster_multicast.cu").read_text("utf-8")
    fixed = text.replace("__global__ void spread", "__global__ void __cluster_dims__(2) spread")
    assert fixed != text
    source = tmp_path / "cluster_multicast.cu"
    source.write_text(fixed.replace("// [launch]\n// cluster = [2]\n//\n", ""), "utf-8")
    _checked(run_cli, source)
    source.write_text(fixed, "utf-8")
    _checked(run_cli, source)
    source.write_text(fixed.replace("cluster = [2]", "cluster = [4]"), "utf-8")
    done = run_cli("diagnose", str(source))
    assert done.returncode == 2
    assert "__cluster_dims__(2, 1, 1)" in done.stderr
    odd = fixed.replace('grid = ["2 * rows"]', 'grid = ["2 * rows + 1"]')
    source.write_text(odd.replace("// [launch]\n// cluster = [2]\n//\n", ""), "utf-8")
    done = run_cli("diagnose", str(source))
    assert done.returncode == 2
    assert "the grid must consist of whole clusters" in done.stderr
