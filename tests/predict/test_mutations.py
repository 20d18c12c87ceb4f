"""One line of a good kernel made worse: the gate has to say so from the source, and name the line.

Each change keeps the result right, as the compiler, a test and a quick look let it pass: another
index, another stride, a pad that is gone, another bound.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

import kernelprof

CUDA = Path(__file__).parents[2] / "cuda"


@dataclass(frozen=True)
class Mutation:
    """A change of one text in one line, or of the two lines of a mapping of threads."""

    what: str
    kernel: str
    old: str
    new: str
    counter: str
    """The label of a counter that it makes worse."""


MUTATIONS = (
    Mutation(
        "a pad is gone",
        "pairs/transpose-column-reads/after.cu",
        "float tile[32][33];",
        "float tile[32][32];",
        "wavefronts by bank conflicts",
    ),
    Mutation(
        "a pad that a define gave is gone",
        "pairs/gram-matrices-unpadded-tile/after.cu",
        "tile[SIZE][SIZE + PAD];",
        "tile[SIZE][SIZE];",
        "shared-memory wavefronts",
    ),
    Mutation(
        "x and y of the threads changed places",
        "ladder/02_coalesced.cu",
        "BLOCK + threadIdx.y;\n    const int col = blockIdx.x * BLOCK + threadIdx.x;",
        "BLOCK + threadIdx.x;\n    const int col = blockIdx.x * BLOCK + threadIdx.y;",
        "global load sectors",
    ),
    Mutation(
        "an index runs over blocks first",
        "pairs/key-hash-few-blocks/after.cu",
        "int i = blockIdx.x * blockDim.x + threadIdx.x;",
        "int i = blockIdx.x + threadIdx.x * gridDim.x;",
        "global load sectors",
    ),
    Mutation(
        "lanes take parts of a row instead of strides",
        "pairs/row-norms-thread-per-row/after.cu",
        "int column = lane; column < columns; column += 32",
        "int column = lane * columns / 32; column < (lane + 1) * columns / 32; ++column",
        "global load sectors",
    ),
    Mutation(
        "a stride that leaves out the other blocks",
        "pairs/largest-value-sixteen-blocks/after.cu",
        "i < n / 4; i += gridDim.x * blockDim.x",
        "i < n / 4; i += blockDim.x",
        "global load sectors",
    ),
    Mutation(
        "bytes one by one instead of four",
        "pairs/codebook-gemv-table-per-thread/after.cu",
        "const uchar4 code = line[k];",
        "const uchar4 code = {codes[row * columns + 4 * k], codes[row * columns + 4 * k + 1], "
        "codes[row * columns + 4 * k + 2], codes[row * columns + 4 * k + 3]};",
        "global load sectors",
    ),
    Mutation(
        "an array that is indexed at run time",
        "pairs/label-votes-indexed-array/after.cu",
        "#pragma unroll\n            for (int k = 0; k < CLASSES; ++k) {",
        "#pragma unroll 1\n            for (int k = 0; k < CLASSES; ++k) {",
        "local-memory sectors (spills)",
    ),
    Mutation(
        "a bound of registers that makes them spill",
        "pairs/manhattan-distances-many-registers/after.cu",
        "__launch_bounds__(THREADS, 2)",
        "__launch_bounds__(THREADS, 8)",
        "local-memory sectors (spills)",
    ),
    Mutation(
        "a bound of registers that is gone",
        "pairs/nearest-point-one-query-a-block/after.cu",
        "__launch_bounds__(THREADS, 2)",
        "__launch_bounds__(THREADS, 1)",
        "blocks that fit on an SM",
    ),
    Mutation(
        "a loop that is not unrolled any more",
        "pairs/start-codon-each-match/after.cu",
        "#pragma unroll 4",
        "#pragma unroll 1",
        "instructions",
    ),
    Mutation(
        "a loop that only every other thread enters",
        "pairs/start-codon-each-match/after.cu",
        "int at = lane; at + 2 < length; at += 32",
        "int at = lane / 2; at + 2 < length && lane % 2 == 0; at += 16",
        "threads an instruction",
    ),
)


@pytest.mark.slow("twelve kernels are compiled and run twice each")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.what)
def test_the_gate_names_the_line_that_was_changed(mutation: Mutation, tmp_path: Path) -> None:
    source = CUDA / mutation.kernel
    text = source.read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1
    # References stand beside the kernels of the corpus.
    shutil.copytree(source.parent, tmp_path / "kernel")
    before, after = (tmp_path / "kernel" / name for name in ("before-it.cu", "after-it.cu"))
    before.write_text(text, encoding="utf-8")
    after.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    old, new = (each.read_text("utf-8").split("\n") for each in (before, after))
    written = {n for n, (one, other) in enumerate(zip(old, new, strict=True), 1) if one != other}

    result = kernelprof.gate(before, after, predict=True, policy={})

    assert result.exit_code == 1, result.to_text()
    worse = [
        each for each in result.kernels[0].findings if each.outcome is kernelprof.Outcome.REGRESSION
    ]
    (found,) = [each for each in worse if each.text.startswith(mutation.counter)]
    assert found.places[0].file == str(after)
    assert found.places[0].line in written


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("const int column = blockIdx.x", "// a comment\n    const int column = blockIdx.x"),
        ("to_column", "output_column"),
        ("int step = 0; step < 32; step += 8", "int step = 0; step <= 24; step += 8"),
    ],
    ids=["comment", "name", "the same loop"],
)
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
