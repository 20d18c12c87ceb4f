"""From captures to a scorecard: what is read, what is left out, and the three ways to judge."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from benchmarks.corpus.measure import place
from benchmarks.corpus.pairs import Side, corpus
from benchmarks.corpus.scorecard import Mode, scorecard
from benchmarks.corpus.stored import (
    FOLDER,
    by_drill_down,
    by_full,
    by_triage,
    load,
    verdicts_on,
    with_only,
)
from tests.conftest import CAPTURES
from tests.support.few import few

from benchmarks.corpus import stored
from kernelprof.analysis.metrics.catalogue import preset
from kernelprof.analysis.verdict import diagnose
from kernelprof.collect.drill import collect_by_verdicts
from kernelprof.errors import InputError
from kernelprof.resources import data_folder
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import MANIFEST, read_stored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.corpus.pairs import Pair

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Verdict

NAMES = ("random-walks-stored-by-path", "transpose-column-reads")


@pytest.fixture
def captures(tmp_path: Path) -> Path:
    for name in NAMES:
        shutil.copytree(FOLDER / name, tmp_path / "captures" / name)
    return tmp_path / "captures"


@pytest.fixture
def pairs(tmp_path: Path) -> tuple[Pair, ...]:
    for name in NAMES:
        shutil.copytree(data_folder("cuda") / "pairs" / name, tmp_path / "pairs" / name)
    return corpus(tmp_path / "pairs")


def test_a_row_a_pair(pairs: tuple[Pair, ...], captures: Path) -> None:
    said: list[str] = []
    found = scorecard(pairs, captures, say=said.append)
    assert [row.pair.name for row in found.rows] == list(NAMES)
    assert found.left_out == ()
    assert said == [f"reading {at} of 2: {name}" for at, name in enumerate(NAMES, 1)]
    _, transpose = found.rows
    gain = transpose.times[Side.BEFORE] / transpose.times[Side.AFTER]
    assert transpose.gain(Side.AFTER) == gain > 1.5
    assert transpose.gain(Side.AFTER_SECOND) is None
    for mode in Mode:
        scored = transpose.scored[mode]
        assert (scored.right, scored.place) == (True, 1)
        assert scored.verdict.bottleneck == "uncoalesced-global-access"
        assert scored.measured == gain
    assert transpose.scored[Mode.FULL].gone is True
    assert transpose.scored[Mode.TRIAGE].gone is None
    assert found.totals().first == found.totals(Mode.DRILL_DOWN).first == 2
    assert found.surroundings.gpus == ("NVIDIA H200",)
    assert found.surroundings.clock_controls == ("none",)
    assert len(found.surroundings.days) >= 1


def test_each_capture_is_read_once(
    pairs: tuple[Pair, ...], captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(folder: Path) -> Capture:
        read.append(folder)
        return read_stored(folder)

    monkeypatch.setattr(stored, "read_stored", counted)
    scorecard(pairs, captures)
    assert len(read) == len(set(read)) == 4


def test_a_pair_that_changed_since_is_left_out(pairs: tuple[Pair, ...], captures: Path) -> None:
    source = pairs[0].source(Side.AFTER)
    source.write_text(source.read_text("utf-8") + "// changed\n", encoding="utf-8")
    found = scorecard(pairs, captures)
    assert [row.pair.name for row in found.rows] == [NAMES[1]]
    (left,) = found.left_out
    assert (left.name, left.why) == (NAMES[0], "no capture of after as it is now")


def test_a_pair_without_a_capture_is_left_out(pairs: tuple[Pair, ...], captures: Path) -> None:
    shutil.rmtree(captures / NAMES[0])
    (left,) = scorecard(pairs, captures).left_out
    assert left.why == "no capture of before and after as it is now"
    assert set(load(pairs, captures)) == {NAMES[1]}
    shutil.rmtree(captures / NAMES[1] / "after")
    with pytest.raises(InputError, match="no pair was measured as it is now") as caught:
        scorecard(pairs, captures)
    assert caught.value.where == str(captures)


def test_a_pair_without_times_is_left_out(pairs: tuple[Pair, ...], captures: Path) -> None:
    manifest = place(captures, pairs[0], Side.BEFORE) / MANIFEST
    values = json.loads(manifest.read_text("utf-8"))
    manifest.write_text(json.dumps(values | {"timing": None}), encoding="utf-8")
    (left,) = scorecard(pairs, captures).left_out
    assert (left.name, left.why) == (NAMES[0], "no times of before")


def test_a_damaged_capture_is_an_error(pairs: tuple[Pair, ...], captures: Path) -> None:
    (place(captures, pairs[0], Side.AFTER) / "raw.csv.gz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="the capture is damaged"):
        scorecard(pairs, captures)


def test_a_folder_that_is_not_there(pairs: tuple[Pair, ...], tmp_path: Path) -> None:
    for read in (scorecard, load):
        with pytest.raises(InputError, match="the folder of captures of the corpus does not exist"):
            read(pairs, tmp_path / "none")


def alone(capture: Capture) -> Verdict:
    return replace(diagnose(capture).kernels[0].verdict, command=None, run=None)


def drilled(capture: Capture) -> Verdict:
    def collect(metrics: Sequence[Metric], *_: object) -> Capture:
        return with_only(capture, metrics)

    return replace(
        collect_by_verdicts(collect).diagnosis.kernels[0].verdict, command=None, run=None
    )


@pytest.mark.parametrize(
    "judge",
    few([by_full, by_triage, by_drill_down], by_drill_down, why="the corpus is judged once more"),
)
def test_judged_together_each_gets_the_verdict_that_it_gets_alone(judge, captures: Path) -> None:
    found = [
        *(
            kernel.capture
            for kernels in load(corpus()[::8]).values()
            for kernel in kernels.values()
        ),
        *(read_stored(captures / name / side) for name in NAMES for side in ("before", "after")),
    ]
    together = [replace(verdict, command=None, run=None) for verdict in judge(found)]
    if judge is by_full:
        assert together == [alone(each) for each in found]
    elif judge is by_triage:
        assert together == [alone(with_only(each, preset("triage").metrics)) for each in found]
    else:
        assert together == [drilled(each) for each in found]


def test_of_several_kernels_the_one_that_takes_the_time_counts() -> None:
    series = read_capture(CAPTURES / "four_gemms.full.raw.csv")
    less = with_only(series, preset("triage").metrics)
    assert [each.bottleneck for each in verdicts_on([less, series, less])] == [
        "uncoalesced-global-access"
    ] * 3
    assert verdicts_on([]) == []


def test_triage_has_its_metrics_and_what_ncu_always_gives(captures: Path) -> None:
    whole = read_stored(captures / NAMES[1] / "before")
    less = with_only(whole, preset("triage").metrics)
    assert less.launches == whole.launches
    names = {name for metric in preset("triage").metrics for name in metric.all_ncu_names()}
    gone = set(whole.columns) - set(less.columns)
    assert gone
    assert not gone & names
    assert not any(name.startswith(("launch__", "device__attribute_")) for name in gone)
