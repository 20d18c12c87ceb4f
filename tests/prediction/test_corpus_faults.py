"""Every kernel of the ladders and the corpus is right, and so nothing may be told of it.

Without one barrier some of them race, and that has to be told.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.few import few, part_of

from kernelprof.launch.run.trial import LaunchError
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.prediction.binding import NotRunnableError, bind_arguments
from kernelprof.prediction.checking import run_sanitized_check
from kernelprof.prediction.machine_code import compile_source
from sassim.faults import RaceError
from sassim.interpreter.context import NotKnownError

CUDA = Path(__file__).parents[2] / "cuda"
FILES = sorted(file for file in CUDA.rglob("*.cu") if file.parent.name != "factors")

WITHOUT_BARRIER = {
    # Removed is the first barrier in the source, or the one of that number.
    "ladder/12_warp_tile.cu": 0,
    "ladder/13_double_buffered.cu": -1,
    "pairs/transpose-wide-padded-tile/before.cu": 0,
    "pairs/chebyshev-series-in-double/before.cu": 0,
    "pairs/bought-together-one-warp-blocks/after.cu": -1,
    "pairs/hash-join-room-for-most-groups/after.cu": 0,
    "pairs/running-sums-raking-stride/before.cu": -1,
    "pairs/dgemm-one-output-a-thread/before.cu": -1,
    "pairs/covariance-product-unsplit/before.cu": 0,
    "ladder/bf16/03_cp_async_ring.cu": 0,
}
TRIED = "pairs/transpose-wide-padded-tile/before.cu"
BARRIER = re.compile(r"__syncthreads\(\)")


def run(source: Path) -> None:
    """Compile a source and watch it at its check sizes."""
    found = compile_source(source, LaunchOverrides(), progress=lambda _: None)
    spec, folder = found.spec, source.parent
    sizes = spec.resolve(spec.check_sizes)
    run_sanitized_check(
        spec, bind_arguments(found.code, found.built, sizes, folder, str(source)), source
    )


@pytest.mark.parametrize(
    "name",
    part_of(40, (str(each.relative_to(CUDA)) for each in FILES), why="compiles and runs a kernel"),
)
def test_nothing_is_told_of_a_right_kernel(name: str) -> None:
    with suppress(NotRunnableError, NotKnownError):
        run(CUDA / name)


@pytest.mark.parametrize("name", few(WITHOUT_BARRIER, TRIED, why="runs a kernel"))
def test_a_barrier_that_is_missing_is_told(name: str, tmp_path: Path) -> None:
    source = CUDA / name
    for each in source.parent.iterdir():
        if each.is_file():
            shutil.copy(each, tmp_path)
    text = source.read_text(encoding="utf-8")
    place = list(BARRIER.finditer(text))[WITHOUT_BARRIER[name]]
    copy = tmp_path / source.name
    copy.write_text(text[: place.start()] + "(void)0" + text[place.end() :], encoding="utf-8")
    with pytest.raises(LaunchError, match="race on shared memory") as caught:
        run(copy)
    assert isinstance(caught.value.__cause__, RaceError)
    assert re.fullmatch(rf"{re.escape(str(copy))}:\d+", caught.value.where or "")
