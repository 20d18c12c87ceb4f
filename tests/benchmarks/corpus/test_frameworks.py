"""Pairs of PyTorch and Triton in the score: beside the kernels, and in a section of their own."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec
import pytest
from benchmarks.corpus.document import document
from benchmarks.corpus.measure import is_measured, place
from benchmarks.corpus.pairs import Form, Kind, Side, choose, corpus, scripts
from benchmarks.corpus.results import results
from benchmarks.corpus.scorecard import scorecard
from benchmarks.corpus.scripts import facts
from benchmarks.corpus.stored import FOLDER, SCRIPTS_FOLDER, home
from tests.benchmarks.corpus.samples import ATOMICS, DRAM, L1, card, full, pair, row, verdict

from kernelprof.report.document import Section, Table, plain
from kernelprof.sources.capture_directory import MANIFEST, read_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.corpus.pairs import Pair
    from benchmarks.corpus.scorecard import Scorecard

KERNEL, SCRIPT = "transpose-column-reads", "torch-add-transposed-operand"


def stand_in(captures: Path, of: Pair) -> None:
    """The real captures of a kernel under the name of a script's pair."""
    for side in of.sides:
        folder = place(captures, of, side)
        shutil.copytree(FOLDER / KERNEL / side, folder)
        manifest = folder / MANIFEST
        values = json.loads(manifest.read_text("utf-8"))
        values["source"] = msgspec.to_builtins(facts(of.source(side), of.target(side)))
        manifest.write_text(json.dumps(values), encoding="utf-8")


@pytest.fixture
def scored(tmp_path: Path) -> Scorecard:
    """A kernel and a script whose captures are those of that kernel."""
    pairs = (*choose(corpus(), [KERNEL]), *choose(scripts(), [SCRIPT]))
    stand_in(tmp_path, pairs[1])
    shutil.copytree(FOLDER / KERNEL, tmp_path / KERNEL)
    return scorecard(pairs, tmp_path)


def sections(found: Scorecard) -> dict[str, Section]:
    return {each.title: each for each in document(found).blocks if isinstance(each, Section)}


def names(section: Section) -> list[str]:
    (table,) = (each for each in section.blocks if isinstance(each, Table))
    return [plain(cells[0].text) for cells in table.rows]


def test_a_script_is_scored_like_a_kernel(scored: Scorecard) -> None:
    kernel, script = scored.rows
    assert (kernel.pair.form, script.pair.form) == (Form.KERNEL, Form.SCRIPT)
    assert kernel.times == script.times
    for mode, found in script.scored.items():
        assert found == replace(kernel.scored[mode], pair=script.pair)
        assert found.right is True
    assert scored.totals().first == 2
    assert [each["form"] for each in results(scored)["pairs"]] == ["kernel", "script"]


def test_it_has_a_section_of_its_own(scored: Scorecard) -> None:
    found = sections(scored)
    assert names(found["One planted bottleneck"]) == [KERNEL]
    assert names(found["PyTorch and Triton"]) == [SCRIPT]
    assert "PyTorch and Triton" not in sections(card())
    text = plain_text(found["PyTorch and Triton"])
    assert "Named first: 1 of 1 (100 %); wrong with high confidence: 0." in text
    assert "; 1 of PyTorch and Triton" in plain_text(next(iter(found.values())))


def plain_text(section: Section) -> str:
    return " ".join(plain(each.text) for each in section.blocks if hasattr(each, "text"))


def test_all_kinds_stand_in_that_section() -> None:
    rows = (
        row(pair(name="added", form=Form.SCRIPT), verdict(DRAM, 2.0), 3.0),
        row(pair(Kind.HEALTHY, "filled", form=Form.SCRIPT), full(L1)),
        row(pair(Kind.DECOY, "harmless", form=Form.SCRIPT), full(DRAM), 1.0),
        row(pair(name="kernel"), verdict(ATOMICS, 2.0), 2.0),
    )
    found = sections(card(rows=rows, left_out=(), peers=()))
    assert sorted(names(found["PyTorch and Triton"])) == ["added", "filled", "harmless"]
    assert names(found["One planted bottleneck"]) == ["kernel"]
    assert "Healthy kernels" not in found
    assert "Decoys" not in found
    assert plain_text(found["PyTorch and Triton"]).startswith(
        "Named first: 0 of 1 (0 %); healthy: 1 of 1 (100 %); decoys: 1 of 1 (100 %); wrong with "
        "high confidence: 1. "
    )


def test_what_is_not_measured_is_told(tmp_path: Path) -> None:
    kernel, script = *choose(corpus(), [KERNEL]), *choose(scripts(), [SCRIPT])
    shutil.copytree(FOLDER / KERNEL, tmp_path / KERNEL)
    (left,) = scorecard((kernel, script), tmp_path).left_out
    assert (left.name, left.why) == (SCRIPT, "no capture of before and after as it is now")
    stand_in(tmp_path, script)
    assert scorecard((kernel, script), tmp_path).left_out == ()
    manifest = place(tmp_path, script, Side.AFTER) / MANIFEST
    values = json.loads(manifest.read_text("utf-8"))
    values["source"]["sha256"] = "0" * 64
    manifest.write_text(json.dumps(values), encoding="utf-8")
    (left,) = scorecard((kernel, script), tmp_path).left_out
    assert (left.name, left.why) == (SCRIPT, "no capture of after as it is now")


def test_captures_of_scripts_lie_outside_the_package() -> None:
    assert {home(each) for each in corpus()} == {FOLDER}
    assert {home(each) for each in scripts()} == {SCRIPTS_FOLDER}
    assert not SCRIPTS_FOLDER.is_relative_to(FOLDER.parents[1])


def test_what_was_measured_is_all_there_and_as_the_scripts_are_now() -> None:
    """Where this fails: ``python -m benchmarks.corpus run --only frameworks --captures DIR``."""
    stored = {path.parent for path in SCRIPTS_FOLDER.rglob(MANIFEST)}
    sides = [(each, side) for each in scripts() for side in each.sides]
    assert stored <= {place(SCRIPTS_FOLDER, *each) for each in sides}
    if stored:  # they are measured together
        lacking = [
            f"{each.name}/{side}"
            for each, side in sides
            if not is_measured(SCRIPTS_FOLDER, each, side)
        ]
        assert lacking == []


def test_every_stored_result_was_right_and_timed() -> None:
    for path in SCRIPTS_FOLDER.rglob(MANIFEST):
        manifest = read_manifest(path.parent)
        assert manifest.timing is not None, path
        assert manifest.correctness is not None, path
        assert manifest.correctness.passed, path
        assert manifest.source is not None, path
        assert str(manifest.source.compiler).startswith("torch "), path
