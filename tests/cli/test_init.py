"""``kernelprof init`` as it is called."""

from __future__ import annotations

import json
import stat
import subprocess
import sys

import pytest

KERNEL = """\
__global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""


@pytest.fixture
def copy_cu(tmp_path):
    path = tmp_path / "copy.cu"
    path.write_text(KERNEL)
    path.chmod(0o640)
    return path


def test_it_writes_a_specification(kernelprof, copy_cu) -> None:
    assert kernelprof(f"init {copy_cu}", err="").out.splitlines() == [
        f"{copy_cu}: wrote a launch specification for copy",
        f"next: kernelprof diagnose {copy_cu}",
    ]
    text = copy_cu.read_text()
    assert text.startswith(
        '// /// kernelprof\n// kernel = "copy"\n// block = [256]  # the kernel works with any '
        "block size\n"
        '// grid = ["ceil_div(n, 256)"]  # blockIdx.x covers n\n'
    )
    assert text.endswith(f"// ///\n{KERNEL}")
    assert stat.S_IMODE(copy_cu.stat().st_mode) == 0o640
    assert list(copy_cu.parent.iterdir()) == [copy_cu]


def test_places_to_fill_in_are_listed(kernelprof, copy_cu) -> None:
    copy_cu.write_text(KERNEL.replace("const float*", "const Node*"))
    assert kernelprof(f"init {copy_cu}").out.splitlines()[1:] == [
        "please fill in:",
        f'  {copy_cu}:16: type = ""',
        f"  {copy_cu}:17: shape = []",
    ]


def test_a_kernel_without_a_reference_says_so_and_has_no_blank(kernelprof, copy_cu) -> None:
    copy_cu.write_text(KERNEL.replace("copy(", "mystery("))
    assert kernelprof(f"init {copy_cu}").out.splitlines()[1:] == [
        f"next: kernelprof diagnose {copy_cu}"
    ]
    (line,) = (line for line in copy_cu.read_text().splitlines() if "reference" in line)
    assert line == ('// reference = "none"  # no reference given, so the result is not checked')


@pytest.mark.parametrize(("result", "differs"), [("x[i] + x[i]", False), ("x[i] + 1.0f", True)])
@pytest.mark.slow("several predictions")
def test_another_version_is_the_reference(kernelprof, copy_cu, result, differs) -> None:
    copy_cu.write_text(KERNEL.replace("= x[i]", "= 2.0f * x[i]"))
    new = copy_cu.parent / "new.cu"
    new.write_text(KERNEL.replace("= x[i]", f"= {result}"))
    done = kernelprof(f"init {new} --against {copy_cu}")
    assert '// reference = "copy.cu"  # another version of the kernel' in new.read_text()
    assert ("differs from copy.cu" in done.err) == differs
    kernelprof(f"diagnose {new} --predict", code=2 if differs else {0, 3})


@pytest.mark.slow("several predictions")
def test_the_gate_takes_the_version_before_as_the_reference(kernelprof, copy_cu) -> None:
    new = copy_cu.parent / "new.cu"
    new.write_text(KERNEL.replace("copy(", "mystery(").replace("= x[i]", "= 3.0f * x[i]"))
    copy_cu.write_text(KERNEL.replace("copy(", "mystery("))
    for path in (copy_cu, new):
        kernelprof(f"init {path}")
    words = f"gate {copy_cu} {new} --predict"
    assert "result is wrong" not in kernelprof(words, code=1).out
    kernelprof(f"{words} --against {copy_cu}", code=1, out="the kernel's result is wrong")
    kernelprof(f"gate before after --against {copy_cu}", code=2)


def test_another_version_is_a_source(kernelprof, copy_cu) -> None:
    kernelprof(
        f"init {copy_cu} --against before.csv",
        code=2,
        err="another version of a kernel must be a .cu file",
    )


def test_it_does_not_overwrite_without_force(kernelprof, copy_cu) -> None:
    kernelprof(f"init {copy_cu}")
    before = copy_cu.read_text()
    kernelprof(f"init {copy_cu}", code=2, err="--force")
    assert copy_cu.read_text() == before
    kernelprof(f"init {copy_cu} --force")
    assert copy_cu.read_text() == before


@pytest.mark.parametrize("kernel", ["copy_again", "regex:copy_again"])
def test_one_of_several_kernels(kernelprof, copy_cu, kernel) -> None:
    copy_cu.write_text(KERNEL + KERNEL.replace("copy(", "copy_again("))
    kernelprof(f"init {copy_cu}", code=2, err="2 kernels: copy, copy_again")
    kernelprof(f"init {copy_cu} --kernel {kernel}")
    assert 'kernel = "copy_again"' in copy_cu.read_text()


@pytest.mark.parametrize("mode", [0o444, pytest.param(0o400, marks=pytest.mark.slow("again"))])
def test_a_file_that_is_read_only_stays_as_it_is(kernelprof, copy_cu, mode) -> None:
    copy_cu.chmod(mode)
    kernelprof(f"init {copy_cu}", code=2, err=["read-only", "  next: "])
    assert copy_cu.read_text() == KERNEL
    assert stat.S_IMODE(copy_cu.stat().st_mode) == mode


def test_help_imports_no_parser(cli_environment) -> None:
    code = (
        "import sys, json; from kernelprof.cli.main import main; main(['init', '--help']);"
        "sys.stderr.write(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=cli_environment,
        check=True,
    )
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert not loaded & {"tree_sitter", "tree_sitter_cuda", "numpy", "pandas", "tomllib"}


def test_guessing_itself_needs_no_numpy(cli_environment, copy_cu) -> None:
    """What runs small cases does; it is left out where it is not installed."""
    code = (
        "import sys; from pathlib import Path;"
        "from kernelprof.launch.inference.proposal import infer_specification;"
        f"assert not infer_specification(Path({str(copy_cu)!r})).draft().unfilled;"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], env=cli_environment, check=True)
