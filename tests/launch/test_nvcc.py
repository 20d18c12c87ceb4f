"""What reaches ``nvcc``, which hands all of it to a shell; so does the stand-in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.launch.conftest import stand_in
from tests.support.few import few

from kernelprof.collect.run import name_files_as
from kernelprof.errors import InputError, MissingToolError
from kernelprof.launch.build.compilation import CompileError, build_kernel, compile_failure
from kernelprof.launch.build.nvcc import Workshop, real_names, scratch
from kernelprof.launch.processes import Interrupts
from kernelprof.launch.run.prepare import prepare_kernel
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.launch.specification.reader import load_spec

REAL = shutil.which("nvcc")

STAND_IN = (
    'if [ "$1" = --version ]; then echo "release 13.0, V13.0.88"; exit; fi',
    'printf "%s\\n" "$@" > "$0.asked"; env > "$0.environment"; pwd > "$0.folder"',
    'for word in "$PWD" "$TMPDIR" "$@"; do /bin/sh -c "true \\"$word\\""; done',
    'for source; do :; done; while [ "$1" != -o ]; do shift; done; cp "$source" "$2"',
)
"""As ``nvcc``: each word goes to a shell between double quotes. The copy is the compiled file."""

HOSTILE = (
    "f`pwned`",
    "f$(pwned)",
    'f";pwned;"',
    "f';pwned;'",
    "f;pwned",
    "f\\`pwned\\`",
    "f\npwned\n",
    "f & pwned",
    "größer",
    "-o x",
)

AGAIN = "compiles once more: with the stand-in all of them are tried"

HEADER = "__device__ inline float scaled(float x)\n{\n    return sinf(x) * (VALUE);\n}\n"
KERNEL = """\
#include "inner/scaled.cuh"
extern "C" __global__ void apply(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = scaled(x[i]);
}
"""
TOML = """\
kernel = "apply"
block = [64]
grid = ["ceil_div(n, 64)"]
reference = "none"
sizes = { n = 1000 }
compile = { flags = ["-O3"], defines = { VALUE = "(1 << 4) > 3 && 2 | 1 ? 2 : 3" } }
arguments = [
    { name = "x", type = "float32", shape = ["n"] },
    { name = "y", type = "float32", shape = ["n"], output = true },
    { name = "n", type = "int32", value = "n" },
]
"""
_FILES = rb"(?:[0-9a-f]{16}|apply)\.cu(?=\0)|scaled\.cuh(?=\0)"
PROGRAM = "int main() { return 0; }\n"


@pytest.fixture(autouse=True)
def ran(tmp_path, monkeypatch) -> Path:
    """A file that the program ``pwned`` makes, which is on the search path."""
    mark = tmp_path / "ran"
    tool = stand_in(tmp_path / "found" / "pwned", f"touch {mark}")
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    return mark


@pytest.fixture
def shell_nvcc(tmp_path, monkeypatch) -> Path:
    """A stand-in for ``nvcc`` on the search path; beside it is what it was asked for."""
    tool = stand_in(tmp_path / "bin" / "nvcc", *STAND_IN)
    monkeypatch.setenv("PATH", f"{tool.parent}:{tmp_path}/found:/usr/bin:/bin")
    return tool


@pytest.fixture
def real_nvcc() -> None:
    if REAL is None:
        pytest.skip("there is no nvcc here")


def test_what_is_not_harmless_would_run(shell_nvcc, tmp_path, ran) -> None:
    """The stand-in does what these tests are there to rule out."""
    for flag in ('-frandom-seed=";pwned;"', f"-I{tmp_path}/`pwned`"):
        subprocess.run([shell_nvcc, flag, "-o", tmp_path / "x", "k.cu"], check=False, cwd=tmp_path)
        assert ran.exists()
        ran.unlink()


@pytest.fixture
def made(tmp_path):
    """Makes a kernel with its header in a folder of that name; its path."""

    def make(name: str) -> Path:
        folder = tmp_path / "sources" / name
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "scaled.cuh").write_text(HEADER)
        (folder / "apply.toml").write_text(TOML)
        (folder / "apply.cu").write_text(KERNEL)
        return folder / "apply.cu"

    return make


def _asked(tool: Path) -> list[str]:
    return tool.with_name("nvcc.asked").read_text().splitlines()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.usefixtures("shell_nvcc")
@pytest.mark.slow("ten compilations")
def test_a_program_in_a_folder_that_a_shell_would_run(tmp_path, monkeypatch, ran, name) -> None:
    folder = tmp_path / "sources" / name
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    for source in (folder / "k.cu", folder / f"{name}.cu"):
        source.write_text(PROGRAM)
        with prepare_kernel(source, LaunchOverrides(), Interrupts(), lambda _: None) as found:
            text = Path(found.command[0]).read_text()
            assert text.endswith(PROGRAM)
            assert re.fullmatch(r"[A-Za-z0-9_./-]+", found.command[0])
            (named,) = re.findall(r'^#line 1 "(.*)"$', text, re.MULTILINE)
            shown = named.replace("\\\\", "\\")
            assert name_files_as(source, "mine")(shown) == "mine"
    assert not ran.exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_kernel_in_a_folder_that_a_shell_would_run(shell_nvcc, made, ran, name) -> None:
    source = made(name)
    with scratch() as folder:
        place = Workshop(folder)
        place.cubin("int x;\n", ["-lineinfo", "-O3", "-DA=;pwned;"], "sm_90", source.parent)
        written = (place.build_folder / "kernelprof.options").read_text()
        beside = str(place.printable_path(source.parent))
    assert not ran.exists()
    words = ["-cubin", "-arch=sm_90", "-Xptxas=-v", "-lineinfo", "-O3"]
    more = ["-Xcompiler=@kernelprof.options", "-o", "kernelprof.cubin", "kernel.cu"]
    assert _asked(shell_nvcc) == [*words, *more]
    escaped = re.sub(r"([^\w./=+-])", r"\\\1", beside)
    assert written.splitlines() == ["-DA=\\;pwned\\;", "-iquote", escaped, f"-I{escaped}"]


@pytest.mark.parametrize("name", few(["plain", *HOSTILE], "plain", HOSTILE[2], why=AGAIN))
@pytest.mark.usefixtures("real_nvcc")
def test_it_compiles_and_names_the_users_files(monkeypatch, made, ran, name) -> None:
    source = made(name)
    monkeypatch.chdir(source.parent)
    with scratch() as folder:
        place = Workshop(folder)
        built = build_kernel(
            load_spec(source), source, "sm_90", place.cubin, place.printable_path(source)
        )
        assert built.entry == "apply"
        name_file = name_files_as(source, "mine")
        # Debug information lists the folders of files, and apart from them the files.
        folders = map(os.fsdecode, re.findall(rb"/[^\0]+(?=\0)", built.cubin))
        files = [os.fsdecode(each) for each in re.findall(_FILES, built.cubin)]
        names = {name_file(f"{folder}/{file}") for folder in folders for file in files}
        assert {"mine", str(source.parent / "inner" / "scaled.cuh")} <= names
    assert not ran.exists()
    assert built.options == ("-lineinfo", *load_spec(source).compile.arguments())


@pytest.mark.usefixtures("real_nvcc")
@pytest.mark.parametrize("name", ["plain", 'f"`pwned`'])
def test_an_error_names_the_users_header(made, name) -> None:
    source = made(name)
    header = source.parent / "inner" / "scaled.cuh"
    header.write_text(HEADER.replace("sinf", "nosuch"))
    spec = load_spec(source)
    with scratch() as folder:
        place = Workshop(folder)
        with pytest.raises(CompileError) as caught:
            build_kernel(spec, source, "sm_90", place.cubin, place.printable_path(source))
    error = compile_failure(source, caught.value.what, kernel="apply")
    assert error.where == f"{header}:3"
    assert error.hint == "declare nosuch, or add it to [compile] defines"


VALUES = (
    ("float", "VALUE x = 1;"),
    ("unsigned int", "VALUE x = 1u;"),
    ("-3", "int x = VALUE;"),
    ("(1<<4)", "int x = VALUE;"),
    ("std::pair<int, float>", "VALUE *x;"),
    ('"a, b;c"', "const char *x = VALUE;"),
    ("'c'", "char x = VALUE;"),
    ("1 > 0 || 2 < 1 && !0 ? 5 : 6 & ~7", "int x = VALUE;"),
    ("{ 1, 2 }", "int x[] = VALUE;"),
)


@pytest.mark.usefixtures("real_nvcc")
@pytest.mark.parametrize(("value", "line"), few(VALUES, VALUES[5], VALUES[7], why=AGAIN))
def test_a_define_has_its_value(tmp_path, value, line) -> None:
    checked = f"#include <utility>\n__global__ void k() {{ {line} (void)x; }}\n"
    (tmp_path / "s").mkdir()
    with scratch() as folder:
        done = Workshop(folder).cubin(checked, [f"-DVALUE={value}"], "sm_90", tmp_path / "s")
    assert b"_Z1kv" in done.cubin


@pytest.mark.usefixtures("real_nvcc")
def test_folders_and_files_are_found_as_beside_the_source(tmp_path) -> None:
    """In quotes beside the source at first; in brackets, the folders of the flags at first."""
    for where in ("home", "one", "two"):
        (tmp_path / where).mkdir()
        for name in ("first.cuh", f"{where}.cuh"):
            (tmp_path / where / name).write_text(f"#define FROM_{where} 1\n")
    (tmp_path / "home" / "pre.cuh").write_text("#define PRE MACRO + 1\n")
    source = '#include "first.cuh"\n#ifndef FROM_home\n#error other\n#endif\n'
    source += "#include <first.cuh>\n#ifndef FROM_one\n#error folder\n#endif\n"
    source += "#include <two.cuh>\nstatic_assert(PRE + FROM_two == 4);\n__global__ void k() {}\n"
    options = [f"-I{tmp_path}/one", f"-isystem={tmp_path}/two", "-include=pre.cuh", "-DMACRO=2"]
    with scratch() as folder:
        assert Workshop(folder).cubin(source, options, "sm_90", tmp_path / "home").cubin


@pytest.mark.parametrize("option", ['-frandom-seed=";id;"', "-ccbin=./sh", "-DX=`id`", "-DX;=1"])
def test_an_option_that_nobody_checked_is_refused(shell_nvcc, tmp_path, option) -> None:
    with scratch() as folder, pytest.raises(InputError, match="flag"):
        Workshop(folder).cubin("int x;", [option], "sm_90", tmp_path)
    assert not shell_nvcc.with_name("nvcc.asked").exists()


def test_nothing_that_nobody_knows_of_is_compiled_in(shell_nvcc, tmp_path, monkeypatch) -> None:
    names = ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS", "INCLUDES", "PTXAS_FLAGS", "CUDAFE_FLAGS")
    for name in names:
        monkeypatch.setenv(name, "-DX=1")
    with scratch() as folder:
        place = Workshop(folder)
        assert place.cubin("int x;", ["-O3"], "sm_90", tmp_path).cubin == b"int x;"
        heard = shell_nvcc.with_name("nvcc.environment").read_text().splitlines()
        assert f"TMPDIR={place.build_folder}" in heard
        assert shell_nvcc.with_name("nvcc.folder").read_text() == f"{place.build_folder}\n"
    assert not [line for line in heard if line.startswith(names)]
    assert os.environ["NVCC_APPEND_FLAGS"] == "-DX=1"


def test_a_program_in_the_current_folder_is_not_the_compiler(tmp_path, monkeypatch) -> None:
    """With ``.`` or nothing between two colons, the search path has the folder of a checkout."""
    tool = stand_in(tmp_path / "bin" / "nvcc", *STAND_IN)
    checkout = tmp_path / "checkout"
    stand_in(checkout / "nvcc", f"touch {tmp_path}/X")
    for name in ("sh", "cp", "gcc"):
        stand_in(checkout / name, f"touch {tmp_path}/X")
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("PATH", f".::checkout:{tool.parent}:/usr/bin:/bin")
    with scratch() as folder:
        assert Workshop(folder).cubin("int x;", [], "sm_90", checkout).cubin == b"int x;"
    assert not (tmp_path / "X").exists()
    heard = tool.with_name("nvcc.environment").read_text().splitlines()
    assert f"PATH={tool.parent}:/usr/bin:/bin" in heard


@pytest.mark.parametrize("name", ["t`pwned`", "t t", 't"', "ä"])
def test_temporary_files_go_where_a_shell_reads_nothing(tmp_path, monkeypatch, name) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / name)
    for given in (tmp_path / name, tmp_path / "link"):
        monkeypatch.setattr("tempfile.tempdir", str(given))
        with scratch() as folder:
            assert folder.is_dir()
            assert re.fullmatch(r"[A-Za-z0-9_./-]+", str(folder.resolve()))
        monkeypatch.setattr("kernelprof.launch.build.nvcc._OTHER_PLACES", ())
        with pytest.raises(MissingToolError) as caught, scratch():
            pass
        assert caught.value.where == str(given)
        assert "$TMPDIR" in (caught.value.hint or "")
        monkeypatch.undo()


def test_a_plain_place_is_taken_as_it_is(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch() as folder:
        assert folder.parent == tmp_path


def test_names_that_debug_information_cannot_hold_are_links(tmp_path) -> None:
    place = Workshop(tmp_path / "work")
    place.folder.mkdir()
    plain = tmp_path / "it's $(fine) [here].cu"
    assert place.printable_path(plain) == plain
    odd = tmp_path / 'a "b"\n.cu'
    odd.write_text("int x;\n")
    link = place.printable_path(odd)
    assert link == place.printable_path(odd)
    assert link.read_text() == "int x;\n"
    assert re.fullmatch(r"[A-Za-z0-9_./-]+\.cu", str(link))
    assert real_names(str(link)) == str(odd)
    assert real_names(f"{link}(3): error, in {link}:4") == f"{odd}(3): error, in {odd}:4"
    inside = place.printable_path(tmp_path / "é") / "inner" / "h.cuh"
    assert real_names(str(inside)) == str(tmp_path / "é" / "inner" / "h.cuh")
    assert real_names("/somewhere/kernelprof-links/0123456789abcdef/h.cuh").startswith("/somewhere")


def test_what_the_compiler_says_is_text(tmp_path, monkeypatch) -> None:
    tool = stand_in(tmp_path / "bin" / "nvcc", "printf 'k.cu:1:2: fatal error: \\377' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tool.parent))
    with scratch() as folder, pytest.raises(CompileError) as caught:
        Workshop(folder).cubin("int x;", [], "sm_90", tmp_path)
    assert caught.value.what == "k.cu:1:2: fatal error: \ufffd"


def test_a_compiler_that_cannot_be_run_is_missing(tmp_path, monkeypatch) -> None:
    tool = tmp_path / "nvcc"
    tool.write_bytes(b"\x7fELF")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with scratch() as folder, pytest.raises(MissingToolError, match="nvcc cannot be run"):
        Workshop(folder).cubin("int x;", [], "sm_90", tmp_path)


@pytest.mark.usefixtures("real_nvcc")
def test_the_options_are_read_by_the_real_compiler_as_they_were_written(tmp_path) -> None:
    """Each printable character of a define comes out as it went in."""
    value = "".join(map(chr, range(32, 127))).translate({ord(each): None for each in "$`\\\"'"})
    source = "#define TEXT(x...) #x\n#define STRING(x...) TEXT(x)\n"
    source += f'static_assert(sizeof(STRING(VALUE)) == {len(value.strip()) + 1}, "");\n'
    with scratch() as folder:
        assert Workshop(folder).cubin(source, [f"-DVALUE={value}"], "sm_90", tmp_path).cubin
