"""Plans: what is spread out into which jobs, and what is refused with the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fleet.conftest import ROOT

from kernelprof.errors import InputError
from kernelprof.fleet.plan import read_plan

if TYPE_CHECKING:
    from tests.fleet.conftest import WritePlan

KERNEL = f'[[kernel]]\nsource = "{ROOT}/cuda/ladder/01_naive.cu"\n'
MANY = f"sizes = {{ {', '.join(f'{name} = {[*range(1, 400)]}' for name in 'ABCDEF')} }}\n"
"""More combinations than any memory holds."""


def test_a_sweep_has_all_combinations(write_plan: WritePlan) -> None:
    sizes = "sizes = { M = [1024, 2048], N = 512 }\ndefines = [{ TILE = [8, 16] }, { BIG = 1 }]\n"
    plan = read_plan(write_plan(KERNEL + sizes))
    assert [(job.sizes, job.defines) for job in plan.jobs] == [
        ((("M", m), ("N", 512)), (each,))
        for m in (1024, 2048)
        for each in (("TILE", 8), ("TILE", 16), ("BIG", 1))
    ]
    assert {job.preset for job in plan.jobs} == {None}


def test_a_comparison_stays_together_in_turns(write_plan: WritePlan) -> None:
    other = f'against = "{ROOT}/cuda/ladder/02_coalesced.cu"\nrepeat = 2\n'
    (group,) = read_plan(write_plan(KERNEL + other)).groups
    assert [(job.side, job.round) for job in group] == [
        ("before", 1),
        ("after", 1),
        ("before", 2),
        ("after", 2),
    ]
    assert group[0].against == group[1].path
    assert group[1].against == group[0].path


def test_a_ladder_with_its_variants(write_plan: WritePlan) -> None:
    text = '[[ladder]]\nname = "sgemm"\nrungs = ["3"]\nsize = [1024]\nvariants = true\n'
    jobs = read_plan(write_plan(text)).jobs
    assert [job.defines for job in jobs] == [(), (("TILE", 8),), (("TILE", 16),)]
    assert {job.sizes for job in jobs} == {(("M", 1024), ("N", 1024), ("K", 1024))}
    assert {job.name for job in jobs} == {"cuda/ladder/03_shared_tile.cu"}


def test_captures_are_found_as_every_command_finds_them(write_plan, some_captures) -> None:
    jobs = read_plan(write_plan(some_captures)).jobs
    assert [job.name for job in jobs][:2] == ["captures/01_naive", "captures/02_coalesced"]
    assert len(jobs) == 6


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ("", "plan.toml"),
        ('[[kernel]]\nsource = "none.cu"\n', "kernel[0].source"),
        (f'{KERNEL}kernels = "x"\n', "kernel[0]"),
        (f"{KERNEL}sizes = {{ M = 0 }}\n", "kernel[0].sizes"),
        ('[[captures]]\nfolder = "nowhere"\n', "captures[0].folder"),
        ("[[program]]\ncommand = []\n", "program[0].command"),
        (f'{KERNEL}against = "none.cu"\n', "kernel[0].against"),
        (f"{KERNEL}sizes = {{ M = [] }}\n{KERNEL}", "kernel[0].sizes"),
        (f"{KERNEL}{KERNEL}sizes = []\n", "kernel[1].sizes"),
        (f"{KERNEL}defines = [{{ TILE = [] }}]\n", "kernel[0].defines"),
        (f"{KERNEL}defines = []\n", "kernel[0].defines"),
        (f"{KERNEL}repeat = 30000000\n", "kernel[0]"),
        pytest.param(
            f"{KERNEL}{MANY}",
            "kernel[0]",
            marks=pytest.mark.slow("more combinations than memory holds"),
        ),
        (f'preset = "tirage"\n{KERNEL}', "plan.toml: preset"),
        (f'{KERNEL}preset = "tirage"\n', "kernel[0].preset"),
        ('[[ladder]]\nname = "sgmm"\n', "ladder[0].name"),
        ('[[ladder]]\nname = "sgemm"\nrungs = ["99"]\n', "ladder[0].rungs"),
        ('[[ladder]]\nname = "sgemm"\nsize = []\n', "ladder[0].size"),
        ("[[kernel]\n", "line 4"),
    ],
)
def test_a_mistake_names_its_place(write_plan: WritePlan, entries: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        read_plan(write_plan(entries))
    assert place in str(caught.value.where)
    assert caught.value.hint
