"""One line of a good kernel made worse: the gate has to say so from the source, and name the line.

Another index, another stride, a pad that is gone, another bound. Some keep the result right, as the
compiler, a test and a quick look let it pass; others do not, as nobody sees who has no GPU.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.few import few

import kernelprof
from kernelprof.interface import baselines

if TYPE_CHECKING:
    from collections.abc import Callable

CUDA = Path(__file__).parents[2] / "cuda"

WRONG = "the kernel's result is wrong"
OUTSIDE = "the kernel accessed memory that is not its own"
LOADS = "global load sectors"
CONFLICTS = "wavefronts by bank conflicts"


@dataclass(frozen=True)
class Mutation:
    """A change of one text in one line, or of the two lines of a mapping of threads."""

    kind: str
    kernel: str
    old: str
    new: str
    says: str
    """What the finding begins with: a counter that got worse, or what is wrong."""

    def __str__(self) -> str:
        return f"{self.kind}-{Path(self.kernel).parent.name}"


MUTATIONS = (
    Mutation(
        "pad",
        "pairs/transpose-column-reads/after.cu",
        "float tile[32][33];",
        "float tile[32][32];",
        CONFLICTS,
    ),
    Mutation(
        "index",
        "pairs/transpose-column-reads/after.cu",
        "tile[threadIdx.x][threadIdx.y + step];",
        "tile[threadIdx.y + step][threadIdx.x];",
        WRONG,
    ),
    Mutation(
        "stride",
        "pairs/transpose-column-reads/after.cu",
        "step += 8) {\n        tile",
        "step += 16) {\n        tile",
        "the kernel read memory that nothing was written to before",
    ),
    Mutation(
        "bound",
        "pairs/transpose-column-reads/after.cu",
        "step < 32; step += 8) {\n        tile",
        "step <= 32; step += 8) {\n        tile",
        OUTSIDE,
    ),
    Mutation(
        "pad",
        "pairs/gram-matrices-unpadded-tile/after.cu",
        "tile[SIZE][SIZE + PAD];",
        "tile[SIZE][SIZE];",
        CONFLICTS,
    ),
    Mutation(
        "index",
        "pairs/gram-matrices-unpadded-tile/after.cu",
        "right = tile[threadIdx.x][k]",
        "right = tile[k][threadIdx.x]",
        WRONG,
    ),
    Mutation(
        "stride",
        "pairs/gram-matrices-unpadded-tile/after.cu",
        "tile[threadIdx.y + r * (SIZE / ROWS)][k]",
        "tile[threadIdx.y + r * SIZE][k]",
        OUTSIDE,
    ),
    Mutation(
        "bound",
        "pairs/gram-matrices-unpadded-tile/after.cu",
        "k < SIZE;",
        "k < SIZE - 1;",
        WRONG,
    ),
    Mutation(
        "index",
        "ladder/02_coalesced.cu",
        "BLOCK + threadIdx.y;\n    const int col = blockIdx.x * BLOCK + threadIdx.x;",
        "BLOCK + threadIdx.x;\n    const int col = blockIdx.x * BLOCK + threadIdx.y;",
        LOADS,
    ),
    Mutation(
        "stride",
        "ladder/02_coalesced.cu",
        "A[row * K + k]",
        "A[row * N + k]",
        OUTSIDE,
    ),
    Mutation(
        "bound",
        "ladder/02_coalesced.cu",
        "k < K;",
        "k <= K;",
        OUTSIDE,
    ),
    Mutation(
        "index",
        "pairs/key-hash-few-blocks/after.cu",
        "int i = blockIdx.x * blockDim.x + threadIdx.x;",
        "int i = blockIdx.x + threadIdx.x * gridDim.x;",
        LOADS,
    ),
    Mutation(
        "stride",
        "pairs/key-hash-few-blocks/after.cu",
        "i += gridDim.x * blockDim.x",
        "i += blockDim.x",
        LOADS,
    ),
    Mutation(
        "bound",
        "pairs/key-hash-few-blocks/after.cu",
        "i < n;",
        "i <= n;",
        OUTSIDE,
    ),
    Mutation(
        "index",
        "pairs/row-norms-thread-per-row/after.cu",
        "int column = lane; column < columns; column += 32",
        "int column = lane * columns / 32; column < (lane + 1) * columns / 32; ++column",
        LOADS,
    ),
    Mutation(
        "stride",
        "pairs/row-norms-thread-per-row/after.cu",
        "column += 32",
        "column += 16",
        WRONG,
    ),
    Mutation(
        "bound",
        "pairs/row-norms-thread-per-row/after.cu",
        "column < columns;",
        "column <= columns;",
        OUTSIDE,
    ),
    Mutation(
        "index",
        "pairs/largest-value-sixteen-blocks/after.cu",
        "4 * i + k",
        "4 * k + i",
        WRONG,
    ),
    Mutation(
        "stride",
        "pairs/largest-value-sixteen-blocks/after.cu",
        "i < n / 4; i += gridDim.x * blockDim.x",
        "i < n / 4; i += blockDim.x",
        LOADS,
    ),
    Mutation(
        "bound",
        "pairs/largest-value-sixteen-blocks/after.cu",
        "i < n / 4;",
        "i <= n / 4;",
        OUTSIDE,
    ),
    Mutation(
        "index",
        "pairs/codebook-gemv-table-per-thread/after.cu",
        "const uchar4 code = line[k];",
        "const uchar4 code = {codes[row * columns + 4 * k], codes[row * columns + 4 * k + 1], "
        "codes[row * columns + 4 * k + 2], codes[row * columns + 4 * k + 3]};",
        LOADS,
    ),
    Mutation(
        "stride",
        "pairs/codebook-gemv-table-per-thread/after.cu",
        "k += 32",
        "k += 16",
        "the kernel never ends",
    ),
    Mutation(
        "bound",
        "pairs/codebook-gemv-table-per-thread/after.cu",
        "k < columns / 4;",
        "k < columns / 2;",
        OUTSIDE,
    ),
    Mutation(
        "index",
        "pairs/label-votes-indexed-array/after.cu",
        "blockDim.x + threadIdx.x;\n    const int y = blockIdx.y * blockDim.y + threadIdx.y;",
        "blockDim.y + threadIdx.y;\n    const int y = blockIdx.y * blockDim.x + threadIdx.x;",
        WRONG,
    ),
    Mutation(
        "stride",
        "pairs/label-votes-indexed-array/after.cu",
        "labels[(y + dy) * (width + 2)",
        "labels[(y + dy) * width",
        WRONG,
    ),
    Mutation(
        "bound",
        "pairs/label-votes-indexed-array/after.cu",
        "dx < 3;",
        "dx <= 3;",
        OUTSIDE,
    ),
    Mutation(
        "index",
        "pairs/start-codon-each-match/after.cu",
        "text[at + 2] == 'G'",
        "text[at + 3] == 'G'",
        OUTSIDE,
    ),
    Mutation(
        "stride",
        "pairs/start-codon-each-match/after.cu",
        "at += 32",
        "at += 16",
        WRONG,
    ),
    Mutation(
        "bound",
        "pairs/start-codon-each-match/after.cu",
        "int at = lane; at + 2 < length; at += 32",
        "int at = lane / 2; at + 2 < length && lane % 2 == 0; at += 16",
        "instructions",
    ),
    Mutation(
        "index",
        "pairs/nearest-point-one-query-a-block/after.cu",
        "first + i % QUERIES) * DIMENSIONS + i / QUERIES",
        "first + i / QUERIES) * DIMENSIONS + i % QUERIES",
        OUTSIDE,
    ),
    Mutation(
        "stride",
        "pairs/nearest-point-one-query-a-block/after.cu",
        "pair < shard / 2; pair += THREADS",
        "pair < shard / 2; pair += THREADS / 2",
        LOADS,
    ),
    Mutation(
        "bound",
        "pairs/nearest-point-one-query-a-block/after.cu",
        "__launch_bounds__(THREADS, 2)",
        "__launch_bounds__(THREADS, 1)",
        "blocks that fit on an SM",
    ),
    Mutation(
        "pad",
        "pairs/edit-distance-table-diagonals/after.cu",
        "WIDTH = LENGTH + 2",
        "WIDTH = LENGTH + 1",
        CONFLICTS,
    ),
    Mutation(
        "index",
        "pairs/edit-distance-table-diagonals/after.cu",
        "table[lane + 1][column])",
        "table[lane][column])",
        WRONG,
    ),
    Mutation(
        "bound",
        "pairs/manhattan-distances-many-registers/after.cu",
        "__launch_bounds__(THREADS, 2)",
        "__launch_bounds__(THREADS, 8)",
        "local-memory sectors (spills)",
    ),
    Mutation(
        "loop",
        "pairs/label-votes-indexed-array/after.cu",
        "#pragma unroll\n            for (int k = 0; k < CLASSES; ++k) {",
        "#pragma unroll 1\n            for (int k = 0; k < CLASSES; ++k) {",
        "local-memory sectors (spills)",
    ),
    Mutation(
        "loop",
        "pairs/start-codon-each-match/after.cu",
        "#pragma unroll 4",
        "#pragma unroll 1",
        "instructions",
    ),
)
SAME = (
    ("const int column = blockIdx.x", "// a comment\n    const int column = blockIdx.x"),
    ("to_column", "output_column"),
    ("int step = 0; step < 32; step += 8", "int step = 0; step <= 24; step += 8"),
)
TRIED = tuple(each for each in MUTATIONS if "transpose" in each.kernel and each.kind == "stride")


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The baseline of a kernel, beside a copy of its folder: references stand there."""
    made: dict[str, Path] = {}

    def hold(kernel: str) -> Path:
        if kernel not in made:
            source = CUDA / kernel
            folder = tmp_path_factory.mktemp("kernel") / "it"
            shutil.copytree(source.parent, folder)
            made[kernel] = folder / "baseline.json"
            found = baselines.save(folder / source.name, predict=True)
            made[kernel].write_text(baselines.text(found), encoding="utf-8")
        return made[kernel]

    return hold


def test_ten_kernels_are_changed_in_four_ways() -> None:
    assert {"index", "stride", "pad", "bound"} <= {each.kind for each in MUTATIONS}
    assert len({each.kernel for each in MUTATIONS}) >= 10


@pytest.mark.parametrize(
    "mutation", few(MUTATIONS, *TRIED, why="a dozen kernels are compiled and run"), ids=str
)
def test_the_gate_names_the_line_that_was_changed(
    mutation: Mutation, held: Callable[[str], Path]
) -> None:
    text = (CUDA / mutation.kernel).read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1
    baseline = held(mutation.kernel)
    after = baseline.parent / "changed.cu"
    after.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    old, new = (each.split("\n") for each in (text, after.read_text("utf-8")))
    written = {n for n, (one, other) in enumerate(zip(old, new, strict=True), 1) if one != other}

    result = kernelprof.gate(baseline, after, predict=True, policy={})

    assert result.exit_code == 1, result.to_text()
    worse = [
        each for each in result.kernels[0].findings if each.outcome is kernelprof.Outcome.REGRESSION
    ]
    (found,) = [each for each in worse if each.text.startswith(mutation.says)]
    assert found.places[0].file == str(after)
    assert found.places[0].line in written


@pytest.mark.parametrize(
    ("old", "new"),
    few(
        SAME,
        SAME[0],
        why="another way to the same machine code",
    ),
    ids=["comment", "name", "the same loop"],
)
@pytest.mark.slow("three architectures")
def test_what_compiles_to_the_same_code_passes_for_every_architecture(
    old: str, new: str, tmp_path: Path
) -> None:
    source = CUDA / "pairs/transpose-column-reads/after.cu"
    after = tmp_path / "after.cu"
    after.write_text(source.read_text("utf-8").replace(old, new), encoding="utf-8")
    archs = ["sm_80", "sm_90", "sm_120"]
    result = kernelprof.gate(source, after, predict=True, arch=archs, policy={})
    assert result.exit_code == 0
    assert [each.kernel.arch for each in result.kernels] == archs
    assert {finding.code.value for each in result.kernels for finding in each.findings} == {
        "same-code"
    }
