"""Instructions out of source pages: real ones, and what else could stand in one."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelprof as kp
from kernelprof.model.waiting import SourceLocation
from kernelprof.sources import read_capture
from kernelprof.sources.ncu.instructions import read_instructions
from kernelprof.sources.ncu_report import code_of

CAPTURES = Path(__file__).parents[1] / "captures"
PAGES = CAPTURES / "source_page"
TILE = "/project/cuda/ladder/03_shared_tile.cu"
HEAD = (
    '"Address","Source","Warp Stall Sampling (All Samples)","Instructions Executed",'
    '"stall_long_sb","stall_selected"'
)
WITH_LINES = f'"Line No","Source",{HEAD}'


def _page(name: str) -> list[str]:
    with gzip.open(PAGES / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
        return list(file)


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
        f"{HEAD}\n",
        '"0x7f0010","      LDG.E R4, desc[UR6][R2.64] ","7","2","5","1"\n',
        '"0x7f0020","      BRA 0x7f0010 ","2","2","0","2"\n',
        '"Kernel Name","m"\n',
        f"{HEAD}\n",
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


def _table(path: str, *rows: str, function: str = "k") -> list[str]:
    return [f'"File Path","{path}"\n', f'"Function Name","{function}"\n', f"{WITH_LINES}\n", *rows]


LOAD = '"","","0x7f0020","LDG.E R4, desc[UR6][R2.64]","7","2","6","1"\n'
FIRST = '"","","0x7f0010","LDC R1, c[0x0][0x28]","1","2","0","1"\n'


def test_inlined_code_has_the_line_of_the_kernels_file_first() -> None:
    page = [
        *_table("/k.cu", '"9","int f()","-","-","1","2","0","1"\n', FIRST),
        *_table("/a.cuh", '"3","x","-","-","7","2","6","1"\n', LOAD),
        *_table("/z.cu", '"4","x","-","-","7","2","6","1"\n', LOAD),
    ]
    page[4:4] = ['"8","y","-","-","7","2","6","1"\n', LOAD]
    (code,) = read_instructions(page)
    places = (SourceLocation("/k.cu", 8), SourceLocation("/a.cuh", 3), SourceLocation("/z.cu", 4))
    assert code.instructions[1].places == places
    assert code.samples == 8


def test_launches_are_added_up_and_rows_that_are_left_out_are_none() -> None:
    gap = '"","","...","...","-","-","-","-"\n'
    table = _table("/k.cu", '"9","f(","a","b")","-","-","8","2","6","1"\n', FIRST, gap, LOAD)
    (code,) = read_instructions([*table, *table])
    assert [each.counts.samples for each in code.instructions] == [2, 14]
    assert code.text_of(SourceLocation("/k.cu", 9)) == 'f(","a","b")'


@given(st.lists(st.text(alphabet='"07x,-.\r\0 \nLA', max_size=60), max_size=12))
def test_nothing_makes_it_fail(rows: list[str]) -> None:
    for start in ([], _table("/k.cu"), ['"Kernel Name","k"\n', f"{HEAD}\n"]):
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
