"""The raw page: values, identity, units and sources of real captures."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelprof.model.capture import Capture, Origin
from kernelprof.sources import read_bytes, read_capture
from kernelprof.sources.ncu.cells import scale_of

CAPTURES = Path(__file__).parents[1] / "captures"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
DURATION = "gpu__time_duration.sum"
CLOCK = "dram__cycles_elapsed.avg.per_second"
BASE = "gemm_series.full.raw.base-units.csv"
PAIRS = [
    pytest.param("gemm_series.full.raw.csv", BASE, marks=pytest.mark.slow("another such pair")),
    ("validation/raw.csv.gz", "validation/base-units.raw.csv.gz"),
    ("validation/frameworks.raw.csv.gz", "validation/frameworks.base-units.raw.csv.gz"),
    ("validation/nvtx.raw.csv.gz", "validation/nvtx.base-units.raw.csv.gz"),
]


@pytest.fixture(scope="module")
def base() -> Capture:
    return read_capture(CAPTURES / BASE)


@pytest.fixture(scope="module")
def eight() -> Capture:
    return read_capture(CAPTURES / "gemm_series.eight-metrics.raw.csv")


def test_values_are_exact_and_units_are_remembered(base: Capture) -> None:
    assert (len(base), base.page) == (26, "raw")
    assert (base.application, base.clock_control) == ("gemm_series", None)
    scaled = read_capture(CAPTURES / "gemm_series.full.raw.csv")
    for capture, name, value, unit, original in (
        (base, SECTORS, 4_563_402_752, "sector", "sector"),
        (base, DURATION, 17_649_888, "ns", "ns"),
        (scaled, DURATION, 17_649_888, "ns", "ms"),
        (scaled, CLOCK, 3_199_492_000, "hz", "Ghz"),
    ):
        column = capture.columns[name]
        assert (column.values[0], column.unit, column.original_unit) == (value, unit, original)


@pytest.mark.parametrize(("scaled", "base"), PAIRS)
def test_all_columns_agree_with_the_export_in_base_units(scaled: str, base: str) -> None:
    one, other = read_capture(CAPTURES / scaled), read_capture(CAPTURES / base)
    assert one.launches == other.launches
    assert set(one.columns) == set(other.columns)
    assert one.text == other.text
    for name, column in one.columns.items():
        reference = other.columns[name]
        assert column.unit == reference.unit, name
        scale = scale_of(column.original_unit)
        # Base units come with two decimals, scaled ones with six.
        rounding = 0.0051 + 0.51e-6 * scale.multiply / scale.divide
        np.testing.assert_allclose(
            column.values, reference.values, rtol=1e-9, atol=rounding, equal_nan=True, err_msg=name
        )


def test_identity(base: Capture) -> None:
    launch = base.launches[0]
    assert launch.id == "0"
    assert launch.kernel == "gemm_bad(const float *, const float *, float *, int, int, int)"
    assert (launch.grid, launch.block) == ((128, 128, 1), (16, 16, 1))
    assert (launch.process_id, launch.process_name, launch.host) == (
        "636",
        "gemm_series",
        "127.0.0.1",
    )
    assert (launch.context, launch.stream, launch.device) == ("1", "7", "0")
    assert launch.compute_capability == (9, 0)
    assert launch.nvtx == ()


def test_sources(base: Capture) -> None:
    assert base.columns[SECTORS].source is Origin.MEASURED
    assert base.columns["launch__registers_per_thread"].source is Origin.LAUNCH
    assert base.columns["device__attribute_multiprocessor_count"].source is Origin.LAUNCH
    assert base.columns["derived__local_spilling_requests"].source is Origin.DERIVED


def test_what_is_missing_is_not_zero(base: Capture) -> None:
    """One column each of "no data", of empty cells and of "nan"."""
    for name in (
        "sass__inst_executed_register_spilling_mem_local",
        "SM_B.TriageCompute.l1tex__t_sector_hit_rate.pct",
    ):
        assert np.isnan(base.columns[name].values).all()
    assert np.isnan(base.columns["derived_tempMetric4"].values).sum() == 25


def test_text_columns(base: Capture) -> None:
    assert base.text["device__attribute_display_name"] == ("NVIDIA H200",) * 26
    assert base.text["launch__func_cache_config"][0] == "CachePreferNone"
    assert base.text["launch__kernel_name"] == (None,) * 26
    assert not set(base.text) & set(base.columns)


def test_lines_around_the_table(eight: Capture) -> None:
    assert len(eight) == 26
    assert eight.columns[SECTORS].values[0] == 4_563_402_752
    assert "dram__throughput.avg.pct_of_peak_sustained_elapsed" in eight.columns
    assert eight.application == "./gemm_series"
    assert eight.clock_control == "none"
    assert eight.warnings == ()


def test_program_output_in_the_stream() -> None:
    capture = read_capture(CAPTURES / "degraded" / "degraded_stdoutmix_dramonly.csv")
    assert [launch.id for launch in capture.launches] == ["0", "1", "2"]
    assert capture.warnings == (
        "Nsight Compute reported an error: The application returned an error code (1).",
    )


def test_the_same_launches_in_other_units_and_digits() -> None:
    auto = read_capture(CAPTURES / "degraded" / "units_auto.csv")
    exact = read_capture(CAPTURES / "degraded" / "units_base_fp.csv")
    assert set(auto.columns) == set(exact.columns)
    assert {n: c.unit for n, c in auto.columns.items()} == {
        n: c.unit for n, c in exact.columns.items()
    }
    assert auto.columns[DURATION].values == pytest.approx(exact.columns[DURATION].values, rel=0.02)


def test_nvtx_columns() -> None:
    capture = read_capture(CAPTURES / "validation" / "frameworks_nvtx.base-units.raw.csv.gz")
    assert len(capture) == 10
    ((name, ranges),) = capture.launches[0].nvtx
    assert name.startswith("thread Domain:Push/Pop_Range")
    assert "torch-softmax" in ranges
    assert capture.launches[0].grid == (8192, 1, 1)
    assert not any("Domain:" in column for column in capture.columns)


def test_nvtx_cells_with_newlines_and_quotes(sheets: Any) -> None:
    sheet = sheets.of((CAPTURES / "gemm_series.eight-metrics.raw.csv").read_bytes()).first(3)
    at = sheet.names.index("Kernel Name")
    sheet.names.insert(at, "Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg")
    sheet.units.insert(at, "")
    cells = ['1 "a,b"\n2 "c"\n', "", 'x "\n\n"']
    for row, cell in zip(sheet.rows, cells, strict=True):
        row.insert(at, cell)
    capture = read_bytes(sheet.write().encode(), "nvtx")
    assert [dict(launch.nvtx) for launch in capture.launches] == [
        {sheet.names[at]: cells[0]},
        {},
        {sheet.names[at]: cells[2]},
    ]
    assert capture.columns[SECTORS].values[0] == 4_563_402_752


def test_rows_between_program_output(same: Any) -> None:
    lines = (CAPTURES / "gemm_series.eight-metrics.raw.csv").read_text().splitlines(keepends=True)
    noise = ['tick 5" of 7\n', "==PROF== Profiling\n", "a,b,c\n", '"quoted" words\n', "\n", "0\n"]
    mixed = lines[:5]
    for number, line in enumerate(lines[5:]):
        mixed += [noise[number % len(noise)], line]
    one = read_bytes("".join(mixed).encode(), "mixed")
    assert one.warnings == ()
    same(one, read_bytes("".join(lines).encode(), "plain"))


def test_output_without_a_line_end_before_the_header(same: Any) -> None:
    data = (CAPTURES / "gemm_series.eight-metrics.raw.csv").read_bytes()
    glued = data.replace(b'"ID"', b'100% done."ID"', 1)
    same(read_bytes(glued, "glued"), read_bytes(data, "plain"))


def test_concatenated_exports_with_other_units_columns_and_the_same_ids() -> None:
    one = (CAPTURES / "gemm_series.full.raw.csv").read_bytes()
    other = (CAPTURES / "pycuda_two_kernels.seven-metrics.raw.csv").read_bytes()
    capture = read_bytes(one + other + one, "all")
    assert len(capture) == 26 + 2 + 26
    assert [launch.id for launch in capture.launches[24:30]] == ["24", "25", "0", "1", "0", "1"]
    assert capture.launches[26].process_id == "518"
    assert capture.columns[DURATION].values[[0, 26, 28]] == pytest.approx(
        [17_649_888, 35_310_304, 17_649_888]
    )
    name = "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"
    only_first = capture.columns[name].values
    assert np.isnan(only_first[26:28]).all()
    assert not np.isnan(only_first[:26]).any()


def test_a_second_table_with_units_of_its_own_and_no_header(sheets: Any) -> None:
    sheet = sheets.of((CAPTURES / "degraded" / "units_auto.csv").read_bytes())
    at = sheet.names.index(DURATION)
    milli = [*sheet.units[:at], "ms", *sheet.units[at + 1 :]]
    body = sheets(sheet.names, milli, sheet.rows).write().partition("\n")[2]
    values = read_bytes((sheet.write() + body).encode(), "two").columns[DURATION].values
    assert values[3:] == pytest.approx(1000 * values[:3])


def test_a_table_without_units_leaves_out_what_depends_on_them(sheets: Any) -> None:
    sheet = sheets.of((CAPTURES / "gemm_series.eight-metrics.raw.csv").read_bytes())
    lines = sheet.write().splitlines(keepends=True)
    capture = read_bytes("".join([lines[0], *lines[2:]]).encode(), "no units")
    assert len(capture) == 26
    assert DURATION not in capture.columns
    assert capture.columns[SECTORS].values[0] == 4_563_402_752
    assert any("no row of units" in sentence for sentence in capture.warnings)


def test_metrics_that_ncu_could_not_give() -> None:
    table = [
        ["ID", "Kernel Name", "nosuch__metric.sum", "half__there.sum", "empty__one.sum"],
        ["", "", "", "inst", ""],
        ["0", "k()", "(!) n/a", "(!) n/a", ""],
        ["1", "k()", "(!) n/a", "7", ""],
    ]
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(table)
    capture = read_bytes(out.getvalue().encode(), "n/a")
    assert capture.unavailable == {"nosuch__metric.sum"}
    assert np.isnan(capture.columns["nosuch__metric.sum"].values).all()
    np.testing.assert_array_equal(capture.columns["half__there.sum"].values, [np.nan, 7])


def test_metrics_with_instances_give_their_aggregate() -> None:
    text = (
        '"ID","Kernel Name","sm__a.sum","sm__b.sum"\n"","","inst",""\n'
        '"0","k","12 (1; 2; 9)","1,024 (512; 512)"\n"1","k","7 (7)","(1; 2)"\n'
    )
    capture = read_bytes(text.encode(), "instances")
    np.testing.assert_array_equal(capture.columns["sm__a.sum"].values, [12, 7])
    np.testing.assert_array_equal(capture.columns["sm__b.sum"].values, [1024, np.nan])


def test_decimal_commas_of_a_spreadsheet() -> None:
    text = (
        "ID;CC;Kernel Name;gpu__time_duration.sum;sm__t.avg.pct;sm__n.sum\n;;;ms;%;inst\n"
        "0;9;k;17,649888;97,05;1.231.028\n1;9;k;3,13;5;1.024\n"
    )
    capture = read_bytes(text.encode(), "de")
    assert capture.columns[DURATION].values == pytest.approx([17_649_888, 3_130_000])
    assert capture.columns["sm__t.avg.pct"].values == pytest.approx([97.05, 5])
    assert capture.columns["sm__n.sum"].values == pytest.approx([1_231_028, 1024])
    assert capture.launches[0].compute_capability == (9, 0)


def test_gzip_and_standard_input(tmp_path: Path, eight: Capture, same: Any) -> None:
    import gzip

    data = (CAPTURES / "gemm_series.eight-metrics.raw.csv").read_bytes()
    packed = tmp_path / "named-anything.txt"
    packed.write_bytes(gzip.compress(data[:30_000]) + gzip.compress(data[30_000:]))
    same(read_capture(packed), eight)
    same(read_capture("-", stdin=io.BytesIO(gzip.compress(data))), eight)
    same(read_capture("-", stdin=io.BytesIO(data)), eight)


def test_a_cut_gzip_file_gives_what_it_holds() -> None:
    import gzip

    data = (CAPTURES / "gemm_series.eight-metrics.raw.csv").read_bytes()
    packed = gzip.compress(data)
    capture = read_bytes(packed[: len(packed) // 2], "cut.csv.gz")
    assert 0 < len(capture) < 26
    assert "truncated" in capture.warnings[0]


def test_metrics_that_this_gpu_does_not_have(eight_bytes: bytes) -> None:
    line = b"==WARNING== Unable to access the following 2 metrics: ctc__a.sum, ctc__b.avg.pct.\n"
    capture = read_bytes(line + eight_bytes, "noted")
    assert capture.unavailable == {"ctc__a.sum", "ctc__b.avg.pct"}
    assert capture.warnings == ()


def test_two_processes_in_one_stream() -> None:
    capture = read_capture(CAPTURES / "ncu_behaviour" / "stdout-two-processes.raw.txt")
    processes = [launch.process_id for launch in capture.launches]
    assert processes == ["8466"] * 3 + ["8504"] * 6
    assert capture.application == "/tmp/w/fixture"


def test_a_kernel_that_failed_has_no_grid_and_no_values() -> None:
    capture = read_capture(CAPTURES / "ncu_behaviour" / "kernel-faults.txt")
    (launch,) = capture.launches
    assert (launch.grid, launch.block) == (None, None)
    assert np.isnan(capture.columns[DURATION].values).all()
    assert "Nsight Compute reported an error: LaunchFailed" in capture.damage


def test_a_count_may_have_a_unit_in_one_version_only() -> None:
    """``idc__requests.sum`` has one in some exports and none in others; another kind is refused."""
    table = '"ID","Kernel Name","a__n.sum","b__n.sum"\n"","","{}","{}"\n"0","k","{}","1"\n'
    text = table.format("", "inst", 5) + table.format("request", "byte", 7)
    capture = read_bytes(text.encode(), "versions")
    column = capture.columns["a__n.sum"]
    assert (column.unit, column.values.tolist()) == ("request", [5, 7])
    assert np.isnan(capture.columns["b__n.sum"].values).tolist() == [False, True]
    assert "The unit of b__n.sum is inst in one table and byte in another" in capture.warnings[0]
