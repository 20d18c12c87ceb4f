"""Short kernels, short blocks one after the other, and warps that read the same at once, with their
times on an H200.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_suffix(".cu")
SPECIFICATION = """
kernel = "{kernel}"
block = [{threads}]
grid = [{blocks}]
reference = "none"
arguments = [
  {{ name = "in", type = "float32", shape = [{words}], fill = "zeros" }},
  {{ name = "out", type = "float32", shape = [{words}], output = true }},
  {{ name = "n", type = "int32", value = "{n}" }},
]
[launch]
shared_bytes = {shared_bytes}
"""
KIB = 1024


class ShortKernel(NamedTuple):
    """A launch. ``shared_bytes`` are dynamic shared memory, so that two blocks or one are resident;
    ``time`` is in microseconds (ncu 2025.3.1, clocks not locked; median of three runs).
    """

    kernel: str
    blocks: int
    threads: int
    n: int
    shared_bytes: int
    time: float

    def write(self, folder: Path) -> Path:
        """The source with its specification in a folder."""
        source = folder / SOURCE.name
        source.write_bytes(SOURCE.read_bytes())
        words = self.blocks * self.threads * (4 if self.kernel == "copy_wide" else 1)
        text = SPECIFICATION.format(**self._asdict(), words=words)
        source.with_suffix(".toml").write_text(text, encoding="utf-8")
        return source


MEASURED = [
    ShortKernel("put", 1, 32, 0, 0, 1.73),
    ShortKernel("put", 132, 256, 0, 0, 1.82),
    ShortKernel("put", 1056, 256, 0, 0, 2.37),
    ShortKernel("put", 16_896, 32, 0, 0, 11.97),
    ShortKernel("put", 16_896, 256, 0, 0, 12.06),
    ShortKernel("put", 16_896, 1024, 0, 0, 22.43),
    ShortKernel("copy", 256, 256, 1 << 16, 0, 2.50),
    ShortKernel("copy", 4096, 256, 1 << 20, 0, 4.80),
    ShortKernel("copy", 65_536, 256, 1 << 24, 0, 50.75),
    ShortKernel("copy", 65_536, 256, 1 << 24, 110 * KIB, 157.4),
    ShortKernel("copy", 65_536, 256, 1 << 24, 227 * KIB, 302.2),
    ShortKernel("copy_wide", 65_536, 256, 1 << 24, 0, 123.9),
    ShortKernel("swap_neighbors", 132, 256, 1, 0, 2.02),
    ShortKernel("swap_neighbors", 132, 256, 16, 0, 2.50),
    ShortKernel("swap_neighbors", 132, 1024, 16, 0, 3.01),
    ShortKernel("sum_records", 132, 32, 4224, 0, 15.10),
    ShortKernel("sum_records", 132, 256, 33_792, 0, 106.1),
    ShortKernel("sum_records", 132, 1024, 135_168, 0, 442.0),
    ShortKernel("sum_records", 528, 256, 135_168, 0, 417.5),
    ShortKernel("sum_all", 132, 32, 4224, 0, 87.90),
    ShortKernel("sum_all", 132, 256, 33_792, 0, 695.9),
]
