"""One line of a good kernel made worse: the gate has to say so from the source, and name the line.

Another index, another stride, a pad that is gone, another bound. Some keep the result right, as the
compiler, a test and a quick look let it pass; others do not, as nobody sees who has no GPU.
"""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.few import few, part_of

import kernelprof
from kernelprof.interface import baselines

if TYPE_CHECKING:
    from collections.abc import Callable

CUDA = Path(__file__).parents[2] / "cuda"


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


TABLE = tomllib.loads(Path(__file__).with_name("mutations.toml").read_text("utf-8"))
MUTATIONS = tuple(Mutation(**each) for each in TABLE["mutation"])
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
    "mutation", part_of(40, MUTATIONS, *TRIED, why="a dozen kernels are compiled and run"), ids=str
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
