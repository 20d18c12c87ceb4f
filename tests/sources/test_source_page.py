"""The source page: real ones, and what else could stand in one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.analysis.metrics.catalogue import SAMPLES
from kernelprof.errors import InputError
from kernelprof.model.capture import SampledLine, shares
from kernelprof.sources import read_bytes, read_capture
from kernelprof.sources.ncu_report import read_source_page

PAGES = Path(__file__).parents[1] / "captures" / "source_page"
TILE = "/project/cuda/ladder/03_shared_tile.cu"
FIXTURE = "/project/tests/kernels/fixture.cu"
HEAD = f'"Line No","Source","Address","Source","{SAMPLES}","launch__block_size"'


def _page(name: str) -> list[str]:
    with gzip.open(PAGES / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(file)


def _by_line(lines: tuple[SampledLine, ...]) -> dict[int, int]:
    return {each.line: each.samples for each in lines}


def test_the_lines_of_a_kernel_with_their_samples() -> None:
    found = read_source_page(_page("shared_tile.samples"))
    assert {(each.file, each.function) for each in found} == {(TILE, "sgemm_shared_tile")}
    assert _by_line(found) == {
        70: 65,
        75: 1127,
        76: 513,
        77: 329,
        78: 293,
        81: 51_657,
        82: 218_365,
        83: 298_746,
        84: 762,
        88: 1_386_212,
        90: 728,
        92: 2_821,
        93: 360,
    }


def test_the_samples_are_those_of_the_raw_page() -> None:
    capture = read_capture(PAGES / "shared_tile.samples.raw.csv.gz")
    assert capture.warnings == ()
    assert capture.columns["profiler__replayer_passes"].values[0] == 17
    stalled = [
        column.values[0]
        for name, column in capture.columns.items()
        if name.startswith("smsp__pcsamp_warps_issue_stalled_")
    ]
    assert len(stalled) == 19
    found = read_source_page(_page("shared_tile.samples"))
    assert sum(each.samples for each in found) == sum(stalled) == 1_961_978


def test_a_page_of_source_counters_has_them_in_another_column() -> None:
    found = _by_line(read_source_page(_page("shared_tile.source_counters")))
    assert len(found) == 13
    assert (found[88], found[82], found[84]) == (21_417, 6_293, 13)
    assert sum(found.values()) == 30_396


def test_three_kernels_in_one_page() -> None:
    found = read_source_page(_page("fixture"))
    assert {each.file for each in found} == {FIXTURE}
    by_kernel: dict[str, dict[int, int]] = {}
    for each in found:
        by_kernel.setdefault(each.function, {})[each.line] = each.samples
    assert by_kernel == {
        "scale(float *, float, int)": {13: 20, 14: 81, 15: 1127, 16: 89},
        "strided(const float *, float *, int, int)": {17: 21, 18: 94, 19: 3477, 20: 275},
        "rounds(float *, int)": {21: 37, 22: 12, 23: 227, 24: 4666, 25: 6, 26: 23},
    }


@pytest.mark.parametrize("name", ["fixture.no_lineinfo", "shared_tile.no_samples"])
def test_a_page_without_lines_or_without_samples_has_none(name: str) -> None:
    assert read_source_page(_page(name)) == ()


def _table(path: str, function: str, *rows: str) -> list[str]:
    return [f'"File Path","{path}"\n', f'"Function Name","{function}"\n', f"{HEAD}\n", *rows]


def test_a_line_that_occurs_more_than_once_is_one() -> None:
    page = [
        *_table("/a/k.cu", "k(int)", '"7","x","-","-","5","0"\n', '"7","x","-","-","6","0"\n'),
        *_table("/a/t.cuh", "k(int)", '"7","y","-","-","1","0"\n'),
        *_table("/a/k.cu", "k(int)", '"7","x","-","-","2","0"\n'),
        *_table("/a/k.cu", "m(int)", '"7","x","-","-","3","0"\n'),
    ]
    assert read_source_page(page) == (
        SampledLine("/a/k.cu", "k(int)", 7, 13),
        SampledLine("/a/t.cuh", "k(int)", 7, 1),
        SampledLine("/a/k.cu", "m(int)", 7, 3),
    )


@pytest.mark.parametrize(
    "source",
    [
        'printf("%d, %d", a, b);',
        'printf(""%d, %d"", a, b);',
        "c = '\"';",
        'f("a","b"); // "',
        "",
        "File Path",
        '","","',
    ],
)
def test_quotes_and_commas_in_the_source_do_not_matter(source: str) -> None:
    rows = [f'"1042","{source}","-","-","1,234","32"\r\n', '"1043","}","-","-","7","32"\r\n']
    found = read_source_page(_table("/a/b, c/k.cu", "void k<1, 2>(int)", *rows))
    assert _by_line(found) == {1042: 1234, 1043: 7}
    assert found[0].file == "/a/b, c/k.cu"
    assert found[0].function == "void k<1, 2>(int)"


@pytest.mark.parametrize(
    "row",
    [
        '"","","0x7f","      EXIT","5","0"',
        '"","","...","...","-","-"',
        '"7","x","-","-","-","-"',
        '"7","x","-","-"',
        '"7"',
        '"x","x","-","-","5","0"',
        "7,x,-,-,5,0",
        '==PROF== "7"',
        '"7","x","-","-","-5","0"',
        '"7","x","-","-","1e999","0"',
        "",
    ],
)
def test_a_row_that_is_no_line_with_samples_is_left_out(row: str) -> None:
    assert read_source_page(_table("/k.cu", "k", f"{row}\n")) == ()


def test_rows_before_a_header_are_no_lines() -> None:
    row = '"7","x","-","-","5","0"\n'
    assert read_source_page([row]) == ()
    later = [*_table("/k.cu", "k", row), '"Function Name","m"\n', row]
    assert [each.function for each in read_source_page(later)] == ["k"]


@given(st.lists(st.text(alphabet='"7,-\r\0 x\nLine No' + SAMPLES[:3], max_size=60), max_size=12))
def test_nothing_makes_it_fail(rows: list[str]) -> None:
    found = read_source_page([*_table("/k.cu", "k"), *rows])
    assert all(each.samples >= 0 and each.line >= 0 for each in found)


def test_shares_are_of_all_samples_of_the_kernel() -> None:
    lines = (
        SampledLine("k.cu", "k", 9, 60),
        SampledLine("k.cu", "k", 3, 15),
        SampledLine("k.cu", "k", 4, 0),
        SampledLine("t.cuh", "k", 9, 25),
        SampledLine("k.cu", "other", 9, 10),
        SampledLine("k.cu", "idle", 9, 0),
        SampledLine("t.cuh", "far", 1, 5),
    )
    assert shares(lines, "k.cu") == {
        "k": {3: 0.15, 9: 0.6},
        "other": {9: 1.0},
        "idle": {},
        "far": {},
    }
    assert shares((), "k.cu") == {}


def test_the_hottest_line_of_a_real_kernel() -> None:
    found = shares(read_source_page(_page("shared_tile.samples")), TILE)["sgemm_shared_tile"]
    assert max(found, key=lambda line: found[line]) == 88
    assert found[88] == pytest.approx(0.7065, abs=1e-4)
    assert sum(found.values()) == pytest.approx(1.0)


def test_a_source_page_is_a_capture_of_instructions_without_counters() -> None:
    capture = read_capture(PAGES / "fixture.csv.gz")
    assert [each.kernel for each in capture.launches] == [
        "scale(float *, float, int)",
        "strided(const float *, float *, int, int)",
        "rounds(float *, int)",
    ]
    assert [each.samples for each in capture.code] == [1317, 3867, 4971]
    assert not capture.columns
    assert "raw page of the same report" in capture.warnings[0]


def test_a_page_without_instructions_says_so() -> None:
    page = '"File Path","/k.cu"\n"Function Name","k"\n"Line No","Source","# Samples"\n"7","x","5"\n'
    with pytest.raises(InputError, match="the source page holds no instruction"):
        read_bytes(page.encode(), "k.csv")
