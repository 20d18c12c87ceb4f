"""Rows: which measurements are of one kernel, and what each is compared with."""

from __future__ import annotations

import re
from dataclasses import replace

from msgspec import structs
from tests.comparison.history.samples import eventful, history, moment, together, with_kernels

from kernelprof.comparison.history.rows import RowSelection
from kernelprof.model.history import Commit, MomentKind
from kernelprof.model.snapshot import Acceptance, Noise


def outcomes(found) -> list[str | None]:
    (kernel,) = found.kernels
    return [None if row.time is None else row.time.outcome.value for row in kernel.rows]


def test_only_large_and_significant_changes_are_changes() -> None:
    found = history(
        moment(1, "four-blocks"),
        moment(2, "four-blocks", "2"),
        moment(3, "three-blocks"),
        moment(4, "four-blocks", "3"),
    )
    assert outcomes(found) == [None, "same", "slower", "faster"]
    rows = found.kernels[0].rows
    assert [row.verdict_changed for row in rows] == [False, False, True, True]
    assert [len(row.counters) for row in rows] == [0, 0, 5, 5]
    assert rows[2].time is not None
    assert round(rows[2].time.ratio or 0, 2) == 1.28
    assert rows[2].low_ns is not None
    assert rows[2].high_ns is not None
    assert rows[2].low_ns < rows[2].kernel.median_ns < rows[2].high_ns


def test_a_row_is_compared_with_the_last_one_on_its_gpu() -> None:
    found = history(
        moment(1, "four-blocks"),
        moment(2, "four-blocks", "2", gpu="NVIDIA A100"),
        moment(3, "three-blocks"),
        moment(4, "three-blocks", "2", gpu="NVIDIA A100"),
    )
    assert outcomes(found) == [None, None, "slower", "slower"]
    rows = found.kernels[0].rows
    assert [row.against and row.against.date[:10] for row in rows] == [
        None,
        None,
        "2026-09-01",
        "2026-09-02",
    ]
    assert [row.next_to for row in rows] == [False, False, False, False]


def test_times_that_were_measured_otherwise_are_not_compared() -> None:
    found = history(
        moment(1, "four-blocks"),
        moment(2, "three-blocks", ncu="2026.1.0.0"),
        moment(3, "four-blocks", "2", ncu="2026.1.0.0", clock_control="base"),
    )
    assert outcomes(found) == [None, "not comparable", "not comparable"]
    rows = found.kernels[0].rows
    assert rows[1].time is not None
    assert rows[1].time.reason.startswith("different Nsight Compute (2025.3.1.0 before, 2026.1.0.0")
    # What was executed does not depend on it.
    assert len(rows[1].counters) == 5


def test_another_launch_is_the_same_kernel_unless_a_capture_has_both() -> None:
    first = moment(1, "four-blocks")
    small = replace(first.kernels[0], block=(64, 1, 1), inputs=None)
    other = replace(first.kernels[0], inputs=None)
    later = with_kernels(moment(2, "four-blocks", "2"), block=(64, 1, 1), inputs=None)
    found = history(structs.replace(first, kernels=(other,)), later)
    assert [each.detail for each in found.kernels] == [""]
    assert outcomes(found) == [None, "not comparable"]
    both = history(together(structs.replace(first, kernels=(other,)), small), later)
    assert sorted(each.detail for each in both.kernels) == [
        "grid 16x32, block 128",
        "grid 16x32, block 64",
    ]
    assert [len(each.rows) for each in both.kernels] == [1, 2]


def test_other_sizes_are_another_series() -> None:
    def sized(day: int, run: str, size: int | None):
        found = moment(day, "tile", run)
        (kernel,) = found.kernels
        assert kernel.inputs is not None
        given = None if size is None else {"sizes": {"M": size}}
        inputs = replace(kernel.inputs, specification=given)
        return with_kernels(found, inputs=inputs)

    found = history(sized(1, "1", 1024), sized(2, "2", 2048), sized(3, "3", 1024))
    assert sorted((each.detail, len(each.rows)) for each in found.kernels) == [
        ("M=1024", 2),
        ("M=2048", 1),
    ]
    with_unknown = history(sized(1, "1", 1024), sized(2, "2", None))
    assert [(each.detail, len(each.rows)) for each in with_unknown.kernels] == [("", 2)]
    all_of_them = history(sized(1, "1", 1024), sized(2, "2", None), sized(3, "3", 2048))
    assert sorted(each.detail for each in all_of_them.kernels) == ["", "M=1024", "M=2048"]


def test_rows_can_be_chosen() -> None:
    moments = [moment(day, "tile", str(day)) for day in (1, 2, 3, 4)]
    moments.append(moment(9, "naive"))
    newest = history(*moments, wanted=RowSelection(re.compile("tile"), limit=2))
    (kernel,) = newest.kernels
    assert (len(kernel.rows), kernel.older) == (2, 2)
    # The first one shown is compared with the one before it all the same.
    assert kernel.rows[0].time is not None
    since = history(*moments, wanted=RowSelection(since="2026-09-04T10:00:00Z"))
    assert [each.name for each in since.kernels] == ["sgemm_naive", "sgemm_shared_tile"]
    assert [row.moment.origin for row in since.kernels[1].rows] == ["tile/4"]
    assert history(*moments, wanted=RowSelection(re.compile("nothing"))).kernels == ()
    assert since.moments == 5


def committed(day: int, label: str, run: str, **changes):
    commit = Commit(sha=f"{day:040}", subject=f"Day {day}")
    found = moment(day, label, run)
    return structs.replace(found, commit=commit, kind=MomentKind.BASELINE, **changes)


def test_a_commit_that_measured_nothing_gives_no_row() -> None:
    first = committed(1, "tile", "1")
    same = committed(2, "tile", "1")
    calibrated = with_kernels(committed(3, "tile", "1"), noise=Noise(0.001, 3, "CUDA events"))
    found = history(first, same, calibrated, committed(4, "tile", "2"), committed(5, "tile", "1"))
    (kernel,) = found.kernels
    assert [row.moment.date[8:10] for row in kernel.rows] == ["01", "04", "05"]
    assert outcomes(found) == [None, "same", "same"]
    assert (found.moments, found.baselines) == (5, 5)


def test_what_was_accepted_stands_at_the_measurement_that_it_was_about() -> None:
    first, second = committed(1, "tile", "1"), committed(2, "tile-rolled", "1")
    (kernel,) = second.kernels
    accepted = (
        Acceptance(
            kernel.name, "2026-09-02T09:00:00Z", "Ada", "numerics", after_ns=kernel.median_ns
        ),
        Acceptance(kernel.name, "2026-08-01T09:00:00Z", "Eve", "another time", after_ns=1.0),
        Acceptance(
            "other", "2026-09-02T09:00:00Z", "Bob", "another kernel", after_ns=kernel.median_ns
        ),
    )
    again = committed(3, "tile-rolled", "1")
    twice = (
        *accepted,
        Acceptance(kernel.name, "2026-09-04", "Joe", "again", after_ns=kernel.median_ns),
    )
    found = history(
        first,
        structs.replace(second, accepted=accepted),
        structs.replace(again, accepted=accepted),
        structs.replace(committed(4, "tile-rolled", "1"), accepted=twice),
    )
    rolled = next(each for each in found.kernels if each.name.endswith("rolled"))
    assert [[each.who for each in row.accepted] for row in rolled.rows] == [["Ada"], ["Ada", "Joe"]]


def test_a_kernel_without_times_has_rows_as_well() -> None:
    bare = with_kernels(moment(2, "tile", "2"), events_ns=(), profiled_ns=(), median_ns=None)
    found = history(moment(1, "tile"), bare)
    assert outcomes(found) == [None, "not measured"]
    assert found.kernels[0].rows[1].low_ns is None
    few = with_kernels(moment(2, "tile", "2"), events_ns=(1e6,), profiled_ns=(), median_ns=1e6)
    found = history(moment(1, "tile"), few)
    assert outcomes(found) == [None, "faster"]


def test_the_sample_has_every_kind_of_row() -> None:
    found = eventful()
    assert len(found.kernels) == 3
    tile = next(each for each in found.kernels if each.name == "sgemm_warp_tile")
    assert [row.time and row.time.outcome.value for row in tile.rows] == [
        None,
        "same",
        "slower",
        None,
        "faster",
        "not comparable",
    ]
