"""What a proposal may change of its launch specification, and what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelprof.launch.specification.reader import load_spec
from kernelprof.proposals import changed_keys, check_at_measured_sizes

ROOT = Path(__file__).parents[2]
NAIVE = ROOT / "cuda" / "ladder" / "01_naive.cu"
TEXT = NAIVE.read_text("utf-8")
WITH_SPECIFICATION = sorted((ROOT / "cuda" / "ladder").rglob("*.cu"))


def keys(tmp_path: Path, *edits: tuple[str, str]) -> tuple[str, ...]:
    text = TEXT
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    place = tmp_path / "k.cu"
    place.write_text(text, encoding="utf-8")
    return changed_keys(load_spec(NAIVE), load_spec(place))


@pytest.mark.parametrize(
    "edits",
    [
        (),
        (('// kernel = "sgemm_naive"', '// kernel = "mine"'),),
        (("defines = { BLOCK = 32 }", "defines = { BLOCK = 16, MORE = 1 }"),),
        (('block = ["BLOCK", "BLOCK"]', "block = [256]"),),
        (('// shared_bytes = "0"', "// shared_bytes = 1024"),),
        (("// Naive", "// Anything"),),
    ],
)
def test_how_it_is_launched_may_change(tmp_path: Path, edits: tuple[tuple[str, str], ...]) -> None:
    assert keys(tmp_path, *edits) == ()


@pytest.mark.parametrize(
    ("edit", "key"),
    [
        (("tolerance = 1e-5", "tolerance = 1e5"), "check.tolerance"),
        (('reference = "gemm"', 'reference = "none"'), "reference"),
        (('reference = "gemm"', 'reference = "mine:gemm"'), "reference"),
        (("// M = 4096", "// M = 1024"), "sizes.M"),
        (("sizes = { M = 250,", "sizes = { M = 1,"), "check.sizes.M"),
        (('flops = "2 * M * N * K"', 'flops = "M"'), "flops"),
        (("// measured = 20", "// measured = 1"), "launch.measured"),
        (('flags = ["-O3"]', 'flags = ["-O3", "--use_fast_math"]'), "compile.flags"),
        (
            ('name = "A"\n// type = "float32"', 'name = "A"\n// type = "float16"'),
            "arguments[0].type",
        ),
        (('name = "C"\n', 'name = "C"\n// fill = "zeros"\n'), "arguments[2].fill"),
    ],
)
def test_the_problem_and_its_check_may_not(tmp_path: Path, edit: tuple[str, str], key: str) -> None:
    assert key in keys(tmp_path, edit)


def test_a_define_may_not_change_what_the_arguments_are(tmp_path: Path) -> None:
    sized = TEXT.replace('shape = ["K", "N"]', 'shape = ["K", "N * BLOCK // 32"]')
    assert sized != TEXT
    places = [tmp_path / name for name in ("a.cu", "b.cu", "c.cu")]
    smaller = ("BLOCK = 32 }", "BLOCK = 16 }")
    for place, text in zip(places, (sized, sized.replace(*smaller), TEXT), strict=True):
        place.write_text(text, encoding="utf-8")
    original, changed, _ = map(load_spec, places)
    assert changed_keys(original, changed) == ("the arguments (changed by a define)",)


@pytest.mark.parametrize("source", WITH_SPECIFICATION, ids=lambda path: path.stem)
def test_a_source_is_checked_at_the_sizes_that_it_is_measured_at(source, tmp_path) -> None:
    spec, place = load_spec(source), tmp_path / source.name
    place.write_text(
        check_at_measured_sizes(source.read_text("utf-8"), source, spec), encoding="utf-8"
    )
    made = load_spec(place)
    assert made.check_sizes == made.sizes == spec.sizes
    assert made.tolerance == spec.tolerance
    same = {**made.document(), "check": spec.document()["check"]}
    assert same == spec.document()
    body = source.read_text("utf-8").split("// ///\n")[-1]
    assert place.read_text("utf-8").endswith(body)
