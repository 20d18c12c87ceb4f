"""Options of ``nvcc`` as NVRTC has them."""

from __future__ import annotations

import pytest
from tests.support.few import few

from kernelprof.errors import InputError
from kernelprof.launch.build import options
from kernelprof.launch.build.cubin import CompileError
from kernelprof.prediction.nvrtc_options import nvrtc_options

KERNEL = """\
extern "C" __global__ void k(const float* x, float* y) { *y = *x / 3.0f + *x * *y; }
"""

TRANSLATED = {
    ("-O3", "-O0", "--optimize=2", "-g", "-m64", "-noeh", "--threads=2"): (),
    ("--extended-lambda", "-expt-relaxed-constexpr", "-res-usage"): (),
    ("-lineinfo", "--generate-line-info"): ("-lineinfo", "--generate-line-info"),
    ("--use_fast_math", "-use_fast_math"): ("--use_fast_math", "--use_fast_math"),
    ("-maxrregcount=32", "-ftz=true"): ("--maxrregcount=32", "--ftz=true"),
    ("-std=c++20", "-G", "-jtd=2"): ("--std=c++20", "-G", "-jtd=2"),
    ("-Xptxas=-v,-dlcm=cg", "--ptxas-options=-O1"): (
        *("--ptxas-options=-v", "--ptxas-options=-dlcm=cg"),
        "--ptxas-options=-O1",
    ),
}


@pytest.mark.parametrize(("given", "wanted"), TRANSLATED.items(), ids=str)
def test_translation(given, wanted) -> None:
    assert nvrtc_options(given) == wanted


NOT_ALONE = {"include", "pre-include", "I", "include-path", "isystem", "system-include"}
"""Options that name a file or a folder."""
EVERY = [
    *sorted(options._ALONE),
    *(
        f"{name}{'' if name in 'DUO' else '='}{example}"
        for name, (_, example) in options._VALUES.items()
        if name not in NOT_ALONE
    ),
]


@pytest.mark.slow("a kernel is compiled with each option")
@pytest.mark.parametrize("dashes", few(["-", "--"], "--", why="the same with one dash"))
def test_each_option_of_a_specification_is_taken(compile_cu, dashes: str) -> None:
    """Whatever ``nvcc`` takes, by each of its names."""
    refused = {}
    for option in EVERY:
        if (
            dashes == "--"
            and option[:1] in "DUO"
            and option.partition("=")[0] not in options._VALUES
        ):
            continue
        if nvrtc_options(options.divide_options([dashes + option]).plain):
            try:
                assert compile_cu(KERNEL, dashes + option).cubin
            except InputError as error:
                refused[option] = str(error)
    assert not refused


def test_options_change_the_code_as_they_should(compile_cu) -> None:
    plain = compile_cu(KERNEL).cubin
    assert compile_cu(KERNEL, "-O3", "-lineinfo").cubin != plain
    assert compile_cu(KERNEL, "-O0", "-g", "-Xptxas=-v").cubin == plain
    assert compile_cu(KERNEL, "--use_fast_math").cubin != plain
    assert compile_cu(KERNEL, "-Xptxas=-O0,-v").cubin != plain


def test_an_option_of_one_source_stays_out_of_the_next(compile_cu) -> None:
    """NVRTC itself takes the loads of every later program for read-only ones."""
    plain = compile_cu(KERNEL).cubin
    restricted = compile_cu(KERNEL, "--restrict").cubin
    assert restricted != plain
    assert compile_cu(KERNEL).cubin == plain
    assert compile_cu(KERNEL, "-restrict").cubin == restricted


def test_what_a_process_of_its_own_says_of_a_mistake(compile_cu) -> None:
    with pytest.raises(CompileError, match="nothing_of_the_kind"):
        compile_cu("__global__ void k() { nothing_of_the_kind(); }", "--restrict")
    with pytest.raises(InputError, match="none of NVRTC's"):
        compile_cu(KERNEL, "--restrict", "-std=c++98")
