"""Accesses in no order: times and traffic as an H200 measured them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.few import part_of

import kernelprof
from sassim.scattered import cost_of_access

pytest.importorskip("cuda.bindings")

SOURCE = Path(__file__).parent / "random_access.cu"
SPECIFICATION = """
kernel = "{kernel}"
block = [256]
grid = [4224]
reference = "none"
arguments = [
  {{ name = "table", type = "uint32", shape = ["N"], fill = "zeros", output = {written} }},
  {{ name = "mask", type = "uint64", value = "N - 1" }},
  {{ name = "out", type = "uint32", shape = [256], output = true }},
]
[sizes]
N = {words}
"""
MIB = 1 << 20
REQUESTED = 17.3e6
"""Sectors: of 17.3 million words few are in one."""

MEASURED = [
    ("load", 4, 110.9),
    ("load", 64, 234.1),
    ("load", 1024, 434.0),
    ("store", 4, 227.1),
    ("store", 64, 713.7),
    ("store", 1024, 1069.6),
    ("add", 4, 166.9),
    ("add", 64, 492.0),
    ("add", 1024, 1050.2),
    ("swap", 4, 222.3),
    ("swap", 64, 494.1),
    ("swap", 1024, 1056.8),
]
"""Kernel, MiB of the table, and microseconds (ncu 2025.3.1, clocks not locked)."""

TRAFFIC = [
    ("load", 16, 0.52, 0.0),
    ("load", 64, 20.81, 0.0),
    ("load", 256, 31.76, 0.0),
    ("load", 1024, 33.92, 0.0),
    ("store", 64, 7.10, 14.24),
    ("store", 256, 16.10, 16.81),
    ("store", 1024, 16.98, 17.11),
    ("atomic", 64, 6.03, 14.52),
    ("atomic", 1024, 25.32, 17.02),
]
"""Kind, MiB of the table, and millions of sectors that device memory read and wrote."""


@pytest.mark.parametrize(("kernel", "size", "time"), part_of(6, MEASURED, why="five seconds each"))
def test_the_time_is_near_the_measured_one(
    tmp_path: Path, kernel: str, size: int, time: float
) -> None:
    source = tmp_path / "random_access.cu"
    source.write_bytes(SOURCE.read_bytes())
    words, written = size * MIB // 4, str(kernel != "load").lower()
    source.with_suffix(".toml").write_text(
        SPECIFICATION.format(kernel=kernel, words=words, written=written), encoding="utf-8"
    )
    predicted = kernelprof.predict(source).columns["gpu__time_duration.sum"].values[0] / 1e3
    assert time / 1.4 <= predicted <= time * 1.4


GATHER = """\
// /// kernelprof
// kernel = "gather"
// block = [256]
// grid = ["n // 256"]
// reference = "none"
// arguments = [
//   { name = "x", type = "float32", shape = ["m", 4] },
//   { name = "at", type = "int32", shape = ["k", "n"], limit = "m" },
//   { name = "y", type = "float32", shape = ["n"], output = true },
//   { name = "n", type = "int32", value = "n" },
//   { name = "k", type = "int32", value = "k" },
// ]
// [sizes]
// n = 4194304
// k = 8
// m = 262144
// ///
extern "C" __global__ void gather(const float4* x, const int* at, float* y, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < k; j++) sum += x[at[j * n + i]].x;
    y[i] = sum;
}
"""


def test_a_table_that_l2_holds_is_read_once(tmp_path: Path) -> None:
    source = tmp_path / "gather.cu"
    source.write_text(GATHER, encoding="utf-8")
    read = kernelprof.predict(source).columns["dram__bytes_read.sum"].values[0]
    needed = (4 * 8 * 4_194_304) + (16 * 262_144)
    assert read == pytest.approx(needed, rel=0.05)


@pytest.mark.parametrize(("kind", "size", "read", "written"), TRAFFIC)
def test_device_memory_moves_what_l2_does_not_hold(
    kind: str, size: int, read: float, written: float
) -> None:
    array = size * MIB // 32
    touched = array * (1 - (1 - 1 / array) ** REQUESTED)
    cost = cost_of_access(
        kind,
        requested=REQUESTED,
        touched=touched,
        array=array,
        held=25 * MIB / 32,
        dirty=16 * MIB / 32,
    )
    assert cost.read * REQUESTED / 1e6 == pytest.approx(read, rel=0.4)
    assert cost.written * REQUESTED / 1e6 == pytest.approx(written, rel=0.15)
