"""What a specification may give ``nvcc``: nothing that runs, reads or writes other files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.launch.conftest import SGEMM

from kernelprof.errors import InputError
from kernelprof.launch.build.options import (
    DividedOptions,
    divide_linker_options,
    divide_options,
    explain_refusal,
    join_values,
    resolve_folders,
    split_options,
)

if TYPE_CHECKING:
    from pathlib import Path

DANGEROUS = """
-o=x.cubin|-o x.cubin|-ox|--output-file=x|--output-file x|--outp=x|-odir=x|--output-directory=x
-ccbin=./sh|--compiler-bindir=./sh|-ccbin ./sh|-optf=f|--options-file=f|--options-file f|-optf
-Xcompiler=-fplugin=./x.so|--compiler-options=-o,x|-Xlinker=x|--linker-options=x|-Xnvlink=x
--run|-run|-run-args=x|--keep|-keep|--keep-dir=x|-keep-dir=x|--save-temps|-save-temps|-keep-dir x
--dryrun|-dryrun|-E|--preprocess|-M|-MD|-MMD|-MF=x|-ptx|--ptx|-cubin|-fatbin|-c|-dc|-dw|-dlink
-lib|--lib|-link|--link|-cuda|-optix-ir|-ltoir|-lto|-dlto|-shared|-clean|--clean-targets
-arbin=./sh|--archiver-binary=./sh|-time=x|-fdevice-time-trace=x|-ldir=x|-target-dir=x
-forward-unknown-opts|-forward-unknown-to-host-compiler|-fplugin=x.so|-|--|-h|--help|-idp=x
-arch=sm_80|-arch sm_80|--gpu-architecture=sm_80|-gencode=arch=compute_80|--generate-code=x
-code=sm_80|--gpu-code=sm_80|--gpu-arch=x|-arch=native
-Xptxas=-o,x|-Xptxas=--output-file=x|-Xptxas=-v,-optf=x|--ptxas-options=-arch=sm_80|-Xptxas=@f
-DX=$(touch x)|-DX=`touch x`|-DX=\\$(touch x)|-I$(touch x)|-DX=1\\ntouch
-Xptxas -v|-maxrregcount 64|-std c++17|--include-path sub|--use_fast_math=|-D|-Xptxas=
""".strip()
USEFUL = """
-O3|-O 3|-O=3|--optimize=3|-use_fast_math|--use_fast_math|--maxrregcount=64|-maxrregcount=64
-Xptxas=-v|-Xptxas=-v,-O3,-dlcm=ca|--ptxas-options=--verbose|-DX=1|-D X=1|-DNAME="a b"|-UX
-Isub|-I sub|-I=sub|--include-path=sub|-isystem=sub|-std=c++17|-ftz=true|--fmad=false|-G|-g
-lineinfo|--expt-relaxed-constexpr|-extended-lambda|-Werror=all-warnings|-diag-suppress=177|-w
""".strip()


INJECTED = (
    '-frandom-seed=";id>/tmp/x;"',
    "-frandom-seed=a;id",
    "-frandom-seed=a b",
    "-maxrregcount=64;id",
    "--maxrregcount=6|id",
    "-std=c++17&id",
    "-std=c++17\n",
    "-O3>x",
    "-O 3 id",
    "-ftz=true<x",
    "-default-stream=(id)",
    "-diag-suppress=177,id",
    "-diag-suppress=177;id",
    '-Werror="all-warnings"',
    "-Werror=*",
    "-opt-info=inline ~",
    "-jtd={1,2}",
    "-Ofast-compile=min#",
    "-brief-diag=!1",
    "--dopt=on'",
    "-Xptxas=-v;id",
    "-Xptxas=-v,-warn-on-spills&id",
    "-lineinfo;id",
    "-UX;id",
    "-D1X",
    "-D;id",
    "-DX;id=1",
    '-I";id;"',
    '--include=";id;"',
    '-isystem=x"',
)
"""What a shell, also within the double quotes of ``nvcc``, would take for more than text."""


def _each(text: str) -> list[str]:
    words = [word for line in text.split("\n") for word in line.split("|")]
    return [word.replace("\\n", "\n").replace("\\\\", "\\") for word in words]


@pytest.mark.parametrize(
    ("flag", "what", "hint"),
    [
        *((flag, repr(flag), "") for flag in (*_each(DANGEROUS), *INJECTED)),
        ("-arch=sm_80", "the architecture", ""),
        ("-gencode=arch=compute_80,code=sm_80", "the architecture", ""),
        ("-maxrregcount=x", "cannot have the value 'x'", '"-maxrregcount=64"'),
        ("-DX=a<1,b>", "'b>', which is not a macro", "[compile] defines"),
        ("-std=c17", "the value 'c17'", '"-std=c++17"'),
    ],
)
def test_what_runs_code_or_writes_files_is_refused(flag, what, hint) -> None:
    refused = explain_refusal(flag)
    assert what in refused[0]
    assert refused[1]
    assert hint in refused[1]


@pytest.mark.parametrize("flag", [each for each in INJECTED if each[1] not in "Ii"])
def test_it_is_refused_at_the_compiler_as_well(flag) -> None:
    """Folders are not: they are absolute by then, and no shell gets them."""
    with pytest.raises(InputError):
        divide_options([flag])


@pytest.mark.parametrize("flag", [*_each(USEFUL), "-DX=a;b & (c)", "-I/a b;c/&d"])
def test_no_option_of_nvcc_holds_what_a_shell_reads(flag) -> None:
    for word in divide_options(split_options([flag])).plain:
        assert re.fullmatch(r"[A-Za-z0-9+,._=-]+", word)


@pytest.mark.parametrize("flag", _each(USEFUL))
def test_what_changes_code_may_be_used(flag) -> None:
    assert explain_refusal(flag) is None


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('["--use_fast_math"]', '["-O3", "-ccbin=./sh"]', "compile.flags[1]"),
        ('MODE = "fast"', 'MODE = "$(touch x)"', "compile.defines.MODE"),
        ('MODE = "fast"', 'MODE = "`touch x`"', "compile.defines.MODE"),
        # A pattern that ends with ``$`` lets a line end pass.
        ('standard = "c++17"', 'standard = "c++17\\n"', "compile.standard"),
        ("TILE = 16, MODE", '"TILE\\n" = 1, TILE = 16, MODE', "compile.defines.TILE\n"),
    ],
)
def test_a_specification_is_refused_with_line_and_key(read, tmp_path, old, new, key) -> None:
    with pytest.raises(InputError) as caught:
        read(SGEMM.replace(old, new))
    line = 1 + SGEMM[: SGEMM.index(old)].count("\n")
    assert caught.value.where == f"{tmp_path}/kernel.toml:{line}: {key}"
    assert caught.value.hint


def test_relative_folders_are_those_of_the_source(tmp_path) -> None:
    given = ["-O3", "-Isub", "-I sub", "-I=a,b", "--include-path=sub", "-isystem=/sys", "-DI=sub"]
    assert resolve_folders(given, tmp_path) == [
        "-O3",
        f"-I{tmp_path}/sub",
        f"-I{tmp_path}/sub",
        f"-I={tmp_path}/a,{tmp_path}/b",
        f"--include-path={tmp_path}/sub",
        "-isystem=/sys",
        "-DI=sub",
    ]


def test_each_option_goes_its_way() -> None:
    given = ["-O 3", "-DX=1,Y", '-DS="a,b",T=(1, 2)', "--define-macro=F(a, b)=a-b", "-D Z=z", "-UX"]
    given += ["-Ia,b", "-I c", "--include-path=d", "-isystem=e,f", "-include=g.h,h.h", "-Xptxas=-v"]
    assert divide_options(split_options(given)) == DividedOptions(
        plain=("-O3", "-Xptxas=-v"),
        macros=("-DX=1", "-DY", '-DS="a,b"', "-DT=(1, 2)", "-DF(a, b)=a-b", "-DZ=z", "-UX"),
        folders=("a", "b", "c", "d"),
        system=("e", "f"),
        before=("g.h", "h.h"),
    )


def test_a_define_of_the_specification_may_hold_commas(read) -> None:
    spec = read(SGEMM.replace('MODE = "fast"', 'MODE = "std::pair<int, float>"'))
    assert divide_options(spec.compile.fixed()).macros == (
        "-DTILE=16",
        "-DMODE=std::pair<int, float>",
    )
    assert spec.compile.arguments()[0] == "-std=c++17"


def test_values_after_a_space_are_joined_to_their_option() -> None:
    words = ["-I", "include", "-lcublas", "-L", "lib", "-D", "N=4", "-O2"]
    assert join_values(words) == ["-Iinclude", "-lcublas", "-Llib", "-DN=4", "-O2"]


def test_the_linker_is_told_of_libraries_and_absolute_folders(tmp_path: Path) -> None:
    linker, others = divide_linker_options(
        ["-lineinfo", "-lcublas", "-Llib", "-Iinclude"], tmp_path
    )
    assert linker == ["-lcublas", f"-L{tmp_path}/lib"]
    assert others == ["-lineinfo", "-Iinclude"]
    for option in ("-l$(id)", "-L`id`", "-lx;y"):
        with pytest.raises(InputError, match="library or folder name that is not allowed"):
            divide_linker_options([option], tmp_path)
