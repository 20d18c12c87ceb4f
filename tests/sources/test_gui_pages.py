"""Pages that the Nsight Compute GUI copies: the raw page on its side, the source page numbered."""

from __future__ import annotations

import gzip

import pytest
from tests.support.captures import CAPTURES, captured

from kernelprof.errors import InputError
from kernelprof.sources import read_bytes

FOLDER = "blackwell/jIab-b__nvfp4_gemv-kernel"


def test_the_raw_page_on_its_side() -> None:
    capture = captured(f"{FOLDER}/cuda_raw.csv.gz")
    (launch,) = capture.launches
    assert launch.kernel.startswith("gemv_nvfp4_kernel(const signed char *")
    assert (launch.grid, launch.block) == ((4096, 8, 1), (32, 1, 1))
    assert (launch.compute_capability, launch.process_id) == ((10, 0), "317650")

    def value(name: str) -> tuple[float, str]:
        column = capture.columns[name]
        return float(column.values[0]), column.unit

    assert value("gpu__time_duration.sum") == (296_740.0, "ns")
    assert value("launch__grid_size")[0] == 32_768
    assert value("dram__bytes_read.sum") == (132_160_000.0, "byte")
    assert value("sm__pipe_tc_cycles_active.avg.pct_of_peak_sustained_elapsed") == (0.0, "%")
    assert not any("TriageCompute" in name for name in capture.columns)


def test_braces_count_instances_and_a_cell_without_a_number_is_missing() -> None:
    page = (
        '\ufeffID,0,1\nTime,now\nFunction Name,scale,"copy<a, b>"\nGrid Size,"  4,   1,  1",8\n'
        'Block Size [block],"  32,   1,  1",64\nsm__a.sum [inst],"1,234.5 {449}",{449}\n'
    )
    capture = read_bytes(page.encode(), "page")
    assert [each.kernel for each in capture.launches] == ["scale", "copy<a, b>"]
    values = capture.columns["sm__a.sum"].values.tolist()
    assert values[0] == 1234.5
    assert values[1] != values[1]


@pytest.mark.parametrize("page", ["ID,0\nTime,now\nFunction Name\n", "ID,0\nFunction Name,scale\n"])
def test_a_page_without_a_counter_or_a_kernel_is_refused_or_read(page: str) -> None:
    try:
        capture = read_bytes(page.encode(), "page")
    except InputError:
        return
    assert not capture.columns


def test_the_source_page_with_numbered_instructions() -> None:
    capture = captured(f"{FOLDER}/cuda_profile.csv.gz")
    (code,) = capture.code
    assert code.function == "gemv_nvfp4_kernel"
    page = gzip.decompress((CAPTURES / FOLDER / "cuda_profile.csv.gz").read_bytes())
    assert len(code.instructions) == page.count(b"\n") - 2
    first = code.instructions[0]
    assert (first.offset, first.text) == (0, "LDC R1, c[0x0][0x37c]")
    assert (first.counts.samples, first.counts.executed) == (18, 32_768)


@pytest.mark.parametrize("output", ['{"ID": 3, "Kernel Name": "x"} ', '{"kind":\n"ID"}\n'])
def test_json_that_the_program_printed_before_the_table(output: str) -> None:
    table = '"ID","Kernel Name","sm__a.sum"\n"","","inst"\n"0","scale","7"\n'
    capture = read_bytes((output + table).encode(), "log")
    assert capture.columns["sm__a.sum"].values.tolist() == [7.0]
