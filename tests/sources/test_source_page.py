"""The source page: real ones, and what else could stand in one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelprof as kp
from kernelprof.analysis.metrics.catalogue import SAMPLES
from kernelprof.errors import InputError
from kernelprof.model.capture import SampledLine, line_shares
from kernelprof.model.waiting import SourceLocation
from kernelprof.sources import read_bytes, read_capture
from kernelprof.sources.ncu.report_package import code_of
from kernelprof.sources.source_page import read_instructions, read_source_lines

CAPTURES = Path(__file__).parents[1] / "captures"
PAGES = CAPTURES / "source_page"
TILE = "/project/cuda/ladder/03_shared_tile.cu"
FIXTURE = "/project/tests/kernels/fixture.cu"
HEAD = f'"Line No","Source","Address","Source","{SAMPLES}","launch__block_size"'
CODE_HEAD = (
    '"Address","Source","Warp Stall Sampling (All Samples)","Instructions Executed",'
    '"stall_long_sb","stall_selected"'
)
WITH_LINES = f'"Line No","Source",{CODE_HEAD}'


def _page(name: str) -> list[str]:
    with gzip.open(PAGES / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(file)


def _by_line(lines: tuple[SampledLine, ...]) -> dict[int, int]:
    return {each.line: each.samples for each in lines}


def test_the_lines_of_a_kernel_with_their_samples() -> None:
    found = read_source_lines(_page("shared_tile.samples"))
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
    found = read_source_lines(_page("shared_tile.samples"))
    assert sum(each.samples for each in found) == sum(stalled) == 1_961_978


def test_a_page_of_source_counters_has_them_in_another_column() -> None:
    found = _by_line(read_source_lines(_page("shared_tile.source_counters")))
    assert len(found) == 13
    assert (found[88], found[82], found[84]) == (21_417, 6_293, 13)
    assert sum(found.values()) == 30_396


def test_three_kernels_in_one_page() -> None:
    found = read_source_lines(_page("fixture"))
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
    assert read_source_lines(_page(name)) == ()


def _table(path: str, function: str, *rows: str) -> list[str]:
    return [f'"File Path","{path}"\n', f'"Function Name","{function}"\n', f"{HEAD}\n", *rows]


def test_a_line_that_occurs_more_than_once_is_one() -> None:
    page = [
        *_table("/a/k.cu", "k(int)", '"7","x","-","-","5","0"\n', '"7","x","-","-","6","0"\n'),
        *_table("/a/t.cuh", "k(int)", '"7","y","-","-","1","0"\n'),
        *_table("/a/k.cu", "k(int)", '"7","x","-","-","2","0"\n'),
        *_table("/a/k.cu", "m(int)", '"7","x","-","-","3","0"\n'),
    ]
    assert read_source_lines(page) == (
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
    found = read_source_lines(_table("/a/b, c/k.cu", "void k<1, 2>(int)", *rows))
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
    assert read_source_lines(_table("/k.cu", "k", f"{row}\n")) == ()


def test_rows_before_a_header_are_no_lines() -> None:
    row = '"7","x","-","-","5","0"\n'
    assert read_source_lines([row]) == ()
    later = [*_table("/k.cu", "k", row), '"Function Name","m"\n', row]
    assert [each.function for each in read_source_lines(later)] == ["k"]


@given(st.lists(st.text(alphabet='"7,-\r\0 x\nLine No' + SAMPLES[:3], max_size=60), max_size=12))
def test_nothing_makes_reading_lines_fail(rows: list[str]) -> None:
    found = read_source_lines([*_table("/k.cu", "k"), *rows])
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
    assert line_shares(lines, "k.cu") == {
        "k": {3: 0.15, 9: 0.6},
        "other": {9: 1.0},
        "idle": {},
        "far": {},
    }
    assert line_shares((), "k.cu") == {}


def test_the_hottest_line_of_a_real_kernel() -> None:
    found = line_shares(read_source_lines(_page("shared_tile.samples")), TILE)["sgemm_shared_tile"]
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
    with pytest.raises(InputError, match="the source page contains no instruction"):
        read_bytes(page.encode(), "k.csv")


def test_the_instructions_of_a_real_kernel() -> None:
    (code,) = read_instructions(_page("shared_tile.source_counters"))
    assert (code.function, code.file) == ("sgemm_shared_tile", TILE)
    offsets = [each.offset for each in code.instructions]
    assert offsets == list(range(0, 16 * len(offsets), 16))
    assert code.samples == 30_396
    loads = [each for each in code.instructions if each.text.startswith("LDG")]
    assert {each.places for each in loads} == {
        (SourceLocation(TILE, 82),),
        (SourceLocation(TILE, 83),),
    }
    for each in loads:
        assert each.counts.sectors == each.counts.ideal_sectors
        assert (each.counts.executed or 0) > 0
    assert all(sum(i.counts.stalls.values()) == i.counts.samples for i in code.instructions)
    assert code.text_of(SourceLocation(TILE, 84)) == "__syncthreads();"


def test_targets_of_branches_are_offsets() -> None:
    (code,) = read_instructions(_page("shared_tile.source_counters"))
    last = code.instructions[-1].offset
    targets = [each.text.split()[-1] for each in code.instructions if "BRA " in each.text]
    assert targets
    assert all(0 <= int(target, 16) <= last for target in targets)


def test_samples_without_states_are_read_as_that() -> None:
    (code,) = read_instructions(_page("shared_tile.samples"))
    assert code.samples == 1_961_978
    assert not any(each.counts.stalls for each in code.instructions)
    assert code.instructions[0].counts.executed is None
    assert code.instructions[0].counts.sectors == 0


def test_a_page_of_instructions_alone_has_no_lines() -> None:
    page = [
        '"Kernel Name","void k<(int)4>(float *)",\n',
        f"{CODE_HEAD}\n",
        '"0x7f0010","      LDG.E R4, desc[UR6][R2.64] ","7","2","5","1"\n',
        '"0x7f0020","      BRA 0x7f0010 ","2","2","0","2"\n',
        '"Kernel Name","m"\n',
        f"{CODE_HEAD}\n",
        '"0x7f0010","EXIT","3","1","3","0"\n',
    ]
    first, second = read_instructions(page)
    assert (first.function, second.function) == ("void k<(int)4>(float *)", "m")
    assert [(each.offset, each.text) for each in first.instructions] == [
        (0, "LDG.E R4, desc[UR6][R2.64]"),
        (16, "BRA 0x0"),
    ]
    # The sum counts a state that has no column.
    stalls = first.instructions[0].counts.stalls
    assert stalls == {"long_scoreboard": 5, "selected": 1, "warpgroup_arrive": 1}
    assert first.instructions[0].places == ()
    assert first.file is None


def _lines_with_code(path: str, *rows: str) -> list[str]:
    return [f'"File Path","{path}"\n', '"Function Name","k"\n', f"{WITH_LINES}\n", *rows]


LOAD = '"","","0x7f0020","LDG.E R4, desc[UR6][R2.64]","7","2","6","1"\n'
FIRST = '"","","0x7f0010","LDC R1, c[0x0][0x28]","1","2","0","1"\n'


def test_inlined_code_has_the_line_of_the_kernels_file_first() -> None:
    page = [
        *_lines_with_code("/k.cu", '"9","int f()","-","-","1","2","0","1"\n', FIRST),
        *_lines_with_code("/a.cuh", '"3","x","-","-","7","2","6","1"\n', LOAD),
        *_lines_with_code("/z.cu", '"4","x","-","-","7","2","6","1"\n', LOAD),
    ]
    page[4:4] = ['"8","y","-","-","7","2","6","1"\n', LOAD]
    (code,) = read_instructions(page)
    places = (SourceLocation("/k.cu", 8), SourceLocation("/a.cuh", 3), SourceLocation("/z.cu", 4))
    assert code.instructions[1].places == places
    assert code.samples == 8


def test_launches_are_added_up_and_rows_that_are_left_out_are_none() -> None:
    gap = '"","","...","...","-","-","-","-"\n'
    table = _lines_with_code(
        "/k.cu", '"9","f(","a","b")","-","-","8","2","6","1"\n', FIRST, gap, LOAD
    )
    (code,) = read_instructions([*table, *table])
    assert [each.counts.samples for each in code.instructions] == [2, 14]
    assert code.text_of(SourceLocation("/k.cu", 9)) == 'f(","a","b")'


@given(st.lists(st.text(alphabet='"07x,-.\r\0 \nLA', max_size=60), max_size=12))
def test_nothing_makes_reading_instructions_fail(rows: list[str]) -> None:
    for start in ([], _lines_with_code("/k.cu"), ['"Kernel Name","k"\n', f"{CODE_HEAD}\n"]):
        for code in read_instructions([*start, *rows]):
            assert code.samples >= 0


def test_the_package_reads_what_the_report_has() -> None:
    package = pytest.importorskip("ncu_report")
    context = package.load_report(str(CAPTURES / "fixture_sections.ncu-rep"))
    actions = [context.range_by_idx(0).action_by_idx(n) for n in range(3)]
    found = {each.function.partition("(")[0]: each for each in code_of(package, actions)}
    assert {name: each.samples for name, each in found.items()} == {
        "scale": 1316,
        "strided": 3883,
        "rounds": 4983,
    }
    for action, code in zip(actions, found.values(), strict=True):
        total = action.metric_by_name("smsp__pcsamp_warps_issue_stalled_long_scoreboard")
        stalls = (each.counts.stalls.get("long_scoreboard", 0) for each in code.instructions)
        assert sum(stalls) == total.as_double()
    none = package.load_report(str(CAPTURES / "fixture_basic.ncu-rep"))
    assert code_of(package, [none.range_by_idx(0).action_by_idx(0)]) == ()


@pytest.mark.parametrize("turned", [False, True])
def test_a_page_gives_a_capture_its_instructions(turned: bool) -> None:
    raw = CAPTURES / "fixture_basic.raw.csv"
    page = PAGES / "fixture.csv.gz"
    both = [page, raw] if turned else [raw, page]
    capture = kp.read(both, merge=True)
    assert len(capture) == len(read_capture(raw))
    assert [each.samples for each in capture.code] == [1317, 3867, 4971]
