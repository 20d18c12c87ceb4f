"""The details page says the same as the raw page of the same launches, in its own words."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from kernelprof.model.capture import Capture, Origin
from kernelprof.sources import read_bytes, read_capture
from kernelprof.sources.details_page import DetailsPage
from kernelprof.sources.ncu.cells import Header
from kernelprof.sources.ncu.metric_names import BY_UNIT, METRICS, UNMAPPED, raw_name
from kernelprof.sources.ncu.tables import CsvTable, Scan

CAPTURES = Path(__file__).parents[1] / "captures"
VALIDATION = CAPTURES / "validation"
PAIRS = [
    (CAPTURES / "gemm_series.full.details.csv", CAPTURES / "gemm_series.full.raw.base-units.csv"),
    (VALIDATION / "details.csv.gz", VALIDATION / "base-units.raw.csv.gz"),
    (VALIDATION / "frameworks.details.csv.gz", VALIDATION / "frameworks.base-units.raw.csv.gz"),
    (VALIDATION / "nvtx.details.csv.gz", VALIDATION / "nvtx.base-units.raw.csv.gz"),
    (VALIDATION / "detailed.details.csv.gz", VALIDATION / "detailed.base-units.raw.csv.gz"),
    (VALIDATION / "basic.details.csv.gz", VALIDATION / "basic.base-units.raw.csv.gz"),
    (CAPTURES / "fixture_full.details.csv.gz", CAPTURES / "fixture_full.raw.csv.gz"),
    (CAPTURES / "fixture_sections.details.csv", CAPTURES / "fixture_sections.base-units.raw.csv"),
]
NAMES = [details.name for details, _ in PAIRS]
REPORTED = "kernelprof__reported_"
HEAD = '"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name"'


@pytest.fixture(scope="module")
def details() -> Capture:
    return read_capture(PAIRS[0][0])


def _labels(path: Path) -> set[tuple[str, str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    rows = csv.DictReader(io.StringIO(text))
    return {(row["Metric Name"], row["Metric Unit"]) for row in rows if row["Metric Name"]}


@pytest.mark.parametrize(("details_file", "raw_file"), PAIRS, ids=NAMES)
def test_every_value_is_the_one_of_the_raw_page(details_file: Path, raw_file: Path) -> None:
    """Metrics within the page's two decimals of the scaled unit, sentences within theirs."""
    one, raw = read_capture(details_file), read_capture(raw_file)
    assert one.launches == raw.launches
    assert one.page == "details"
    for name, column in one.columns.items():
        if name.startswith(REPORTED):
            assert name not in raw.columns
            continue
        reference = raw.columns[name]
        assert column.unit == reference.unit, name
        there = ~np.isnan(column.values)
        digits = 0.06 if column.source is Origin.REPORTED else 0.0101
        np.testing.assert_allclose(
            column.values[there], reference.values[there], rtol=0.006, atol=digits, err_msg=name
        )


@pytest.mark.parametrize("details_file", [details for details, _ in PAIRS], ids=NAMES)
def test_no_label_is_left_out_silently(details_file: Path) -> None:
    capture = read_capture(details_file)
    assert not capture.warnings
    for label, unit in _labels(details_file):
        canonical = "%" if unit == "%" else "byte/s"
        assert raw_name(label, canonical) is not None or label in UNMAPPED, label


def test_every_mapped_label_was_checked(details: Capture) -> None:
    """The mapping holds nothing that the 26 launches do not show with its value."""
    named = set(METRICS.values()) | set(BY_UNIT.values())
    assert named <= set(details.columns) | set(details.text)


def test_values(details: Capture) -> None:
    assert len(details) == 26
    assert details.columns["gpu__time_duration.sum"].values[0] == 17_650_000
    assert details.columns["dram__bytes.sum.per_second"].values[0] == pytest.approx(2.65e9)
    memory = details.columns["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"]
    assert (memory.values[0], memory.unit, memory.source) == (98.97, "%", Origin.MEASURED)
    assert details.text["launch__func_cache_config"][0] == "CachePreferNone"
    assert details.launches[0].grid == (128, 128, 1)


def test_sentences_fill_in_what_the_page_lacks(details: Capture) -> None:
    sectors = details.columns["memory_l2_theoretical_sectors_global"]
    ideal = details.columns["memory_l2_theoretical_sectors_global_ideal"]
    assert sectors.source is ideal.source is Origin.REPORTED
    assert sectors.values[0] == 4_565_499_904
    assert ideal.values[0] == 4_565_499_904 - 3_222_798_336
    assert np.isnan(sectors.values[2]), "a silent rule says nothing"
    stall = details.columns["smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"]
    assert stall.values[0] == 192.3
    assert details.columns[f"{REPORTED}pipes_underutilized"].values[[0, 2]].tolist() == [1, 0]
    assert details.text[f"{REPORTED}highest_pipe"][2] == "FMA"
    limiter = details.text[f"{REPORTED}occupancy_limiter"][22]
    assert limiter == "the required amount of shared memory"


def test_metrics_win_over_sentences(details: Capture) -> None:
    for name in ("sm__warps_active.avg.pct_of_peak_sustained_active", "launch__grid_size"):
        assert details.columns[name].source is not Origin.REPORTED
        assert not np.isnan(details.columns[name].values).any()


def test_sections_tell_silent_rules_from_absent_ones(details: Capture) -> None:
    seen = details.text["kernelprof__sections"][0]
    assert seen is not None
    names = seen.split(";")
    assert {"SpeedOfLight", "SourceCounters", "WarpStateStats", "CPIStall"} <= set(names)
    assert "UncoalescedSharedAccess" not in names
    spoken = details.text["kernelprof__spoken"][0]
    assert spoken is not None
    assert "memory_l2_theoretical_sectors_global" in spoken.split(";")


def test_the_speed_of_light_section_alone() -> None:
    capture = read_capture(CAPTURES / "degraded" / "degraded_details_solonly.csv")
    assert [launch.id for launch in capture.launches] == ["0", "1", "2"]
    assert capture.columns["gpu__time_duration.sum"].values.tolist() == [287872, 555232, 60064]
    assert capture.application == "./gemm_series"
    assert len(capture.columns) == 10
    seen = capture.text["kernelprof__sections"][0]
    assert seen is not None
    assert "SpeedOfLight" in seen
    assert "WarpStateStats" not in seen


def test_appended_exports_stay_apart() -> None:
    data = PAIRS[0][0].read_bytes()
    with_header = read_bytes(data + data, "two")
    without = read_bytes(data + data.partition(b"\n")[2], "two without a second header")
    for capture in (with_header, without):
        assert len(capture) == 52
        for column in capture.columns.values():
            np.testing.assert_array_equal(column.values[:26], column.values[26:])


def test_parts_of_one_table_belong_together() -> None:
    first, *rows = PAIRS[0][0].read_bytes().removesuffix(b"\n").split(b"\n")
    header = Header(tuple(next(csv.reader([first.decode()]))), ",")
    one, several = DetailsPage(), DetailsPage()
    one.add(CsvTable(header, None, rows))
    several.add(CsvTable(header, None, rows[:1000]))
    several.add(CsvTable(header, None, rows[1000:]))
    whole, parts = one.capture("x", Scan()), several.capture("x", Scan())
    assert len(parts.launches) == 26
    assert parts.launches == whole.launches
    assert parts.text == whole.text
    assert list(parts.columns) == list(whole.columns)
    for name, column in whole.columns.items():
        np.testing.assert_array_equal(parts.columns[name].values, column.values, name)


def test_tables_may_have_different_columns() -> None:
    text = (
        f'{HEAD}\n"0","k","Occupancy","Duration","us","2",\n'
        '"ID","Grid Size","Kernel Name","Metric Name","Metric Value","Kernel Name"\n'
        '"0","(2, 3, 4)","k","Elapsed Cycles","1,234","other"\n'
    )
    capture = read_bytes(text.encode(), "different")
    assert [(launch.kernel, launch.grid) for launch in capture.launches] == [
        ("k", None),
        ("k", (2, 3, 4)),
    ]
    assert capture.columns["gpc__cycles_elapsed.max"].values[1] == 1234
    assert capture.text["kernelprof__sections"] == ("Occupancy", None)


def test_cells_may_be_longer_than_the_csv_module_takes() -> None:
    kernel = "k" * 200_000
    text = (
        f'{HEAD}\n"0","{kernel}","Occupancy","Duration","us","1",\n'
        '"1","short","Occupancy","Duration","us","2",\n'
    )
    capture = read_bytes(text.encode(), "long")
    assert [launch.kernel for launch in capture.launches] == [kernel, "short"]
    assert capture.columns["gpu__time_duration.sum"].values.tolist() == [1000, 2000]


def test_rows_may_come_in_any_order(details: Capture) -> None:
    lines = PAIRS[0][0].read_text().splitlines(keepends=True)
    order = np.random.default_rng(7).permutation(len(lines) - 1)
    shuffled = read_bytes("".join([lines[0], *(lines[1 + at] for at in order)]).encode(), "any")
    rows = {launch.id: row for row, launch in enumerate(shuffled.launches)}
    back = [rows[launch.id] for launch in details.launches]
    assert set(shuffled.columns) == set(details.columns)
    for name, column in details.columns.items():
        np.testing.assert_array_equal(column.values, shuffled.columns[name].values[back], name)


def test_raw_names_in_place_of_labels() -> None:
    text = (
        f'{HEAD}\n"0","k","Command line profiler metrics","dram__bytes_read.sum","Mbyte","1.50",\n'
        '"0","k","Command line profiler metrics","nosuch__metric.sum","","(!) n/a",\n'
        '"0","k","Occupancy","Achieved Occupancy sm__warps_active.avg.peak","%","12",\n'
    )
    capture = read_bytes(text.encode(), "names")
    assert capture.columns["dram__bytes_read.sum"].values.tolist() == [1_500_000]
    assert capture.columns["sm__warps_active.avg.peak"].values.tolist() == [12]
    assert capture.unavailable == {"nosuch__metric.sum"}


def test_labels_of_earlier_versions() -> None:
    text = (
        f'{HEAD}\n"0","k","GPU Speed Of Light","SOL DRAM","%","85.34",\n'
        '"0","k","GPU Speed Of Light","Duration","usecond","6.40",\n'
        '"0","k","GPU Speed Of Light","SM Frequency","cycle/nsecond","1.12",\n'
    )
    capture = read_bytes(text.encode(), "2020")
    values = {name: column.values[0] for name, column in capture.columns.items()}
    assert values == {
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 85.34,
        "gpu__time_duration.sum": 6400,
        "gpc__cycles_elapsed.avg.per_second": 1.12e9,
    }


def test_unknown_labels_are_named() -> None:
    row = '"0","k","Occupancy"'
    text = f'{HEAD}\n{row},"Brand New","%","1",\n{row},"Duration","us","1",\n'
    (warning,) = read_bytes(text.encode(), "new").warnings
    assert '"Brand New"' in warning


@pytest.mark.parametrize(
    ("ipc", "busy", "kind"),
    [("0.24", "6.05", "elapsed"), ("0.24", "30.02", "active"), ("1.19", "30.01", "elapsed")],
)
def test_busy_slots_of_active_cycles_get_their_own_name(ipc: str, busy: str, kind: str) -> None:
    """Earlier versions meant active cycles; on a small grid the two are far apart."""
    section = '"0","k","Compute Workload Analysis"'
    text = (
        f'{HEAD}\n{section},"Executed Ipc Elapsed","inst/cycle","{ipc}",\n'
        f'{section},"Issued Ipc Active","inst/cycle","1.20",\n'
        f'{section},"Issue Slots Busy","%","{busy}",\n{section},"SM Busy","%","{busy}",\n'
    )
    columns = read_bytes(text.encode(), kind).columns
    for name in ("sm__inst_issued", "sm__instruction_throughput"):
        assert columns[f"{name}.avg.pct_of_peak_sustained_{kind}"].values[0] == float(busy)
    assert len(columns) == 4


def test_a_cut_page_does_not_pretend_that_a_rule_kept_silent() -> None:
    """The last launch may have lost sentences, whether the cut is within a row or between two."""
    data = PAIRS[0][0].read_bytes()
    within = data[:100_000]
    between = within[: within.rindex(b"\n") + 1]
    for part, warning in ((within, "last launch may lack metrics"), (between, "may be cut off")):
        capture = read_bytes(part, "cut")
        assert 1 < len(capture) < 26
        assert warning in capture.warnings[0]
        for name in ("kernelprof__sections", "kernelprof__spoken"):
            assert capture.text[name][-1] is None
            assert None not in capture.text[name][:-1]


def test_a_page_with_broken_rows_says_nothing_of_silence() -> None:
    lines = PAIRS[0][0].read_bytes().split(b"\n")
    lines[500] = lines[500][:60]
    capture = read_bytes(b"\n".join(lines), "broken")
    assert set(capture.text["kernelprof__sections"]) == {None}
