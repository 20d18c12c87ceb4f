"""Another version of a kernel: how it is launched with the arguments of the new one."""

from __future__ import annotations

import pytest

from kernelprof.errors import InputError
from kernelprof.launch.read_spec import load_spec
from kernelprof.launch.source import launch_hashes
from kernelprof.launch.versions import version

SPEC = """\
// /// kernelprof
// kernel = "%s"
// block = [%d]
// grid = ["ceil_div(n, %d)"]
// reference = "%s"
// sizes = { n = 1000 }
%s
// ///
"""
ARRAYS = """\
// [[arguments]]
// name = "x"
// type = "float32"
// shape = ["n"]
// [[arguments]]
// name = "y"
// type = "float32"
// shape = ["n"]
// output = true"""
BODY = "__global__ void %s(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }\n"


@pytest.fixture
def pair(tmp_path):
    """The new source with its specification, and the old one's text beside it."""

    def made(old, arguments=ARRAYS):
        new = tmp_path / "new.cu"
        new.write_text(SPEC % ("f", 256, 256, "old.cu", arguments) + BODY % "f")
        (tmp_path / "old.cu").write_text(old)
        return new

    return made


def test_without_a_specification_it_is_launched_as_the_new_one(pair, tmp_path) -> None:
    spec = load_spec(pair(BODY % "g"))
    source, old = version(spec, tmp_path)
    assert (source, old.kernel, old.reference) == (tmp_path / "old.cu", "g", "none")
    assert old.resolve().grid == (4, 1, 1)
    assert [each.seed for each in old.arguments] == [0, 1]


def test_its_own_specification_counts_with_the_new_arguments(pair, tmp_path) -> None:
    swapped = "\n".join([*ARRAYS.splitlines()[4:], *ARRAYS.splitlines()[:4]])
    text = SPEC % ("g", 64, 64, "copy", swapped) + BODY % "g"
    _, old = version(load_spec(pair(text)), tmp_path)
    assert (old.resolve().block, old.resolve().grid) == ((64, 1, 1), (16, 1, 1))
    # The values are those of the new one: their seeds follow from its places.
    assert [(each.name, each.seed) for each in old.arguments] == [("y", 1), ("x", 0)]


@pytest.mark.parametrize(
    ("old", "said"), [("x", "has an array 'z', and the kernel has none"), ("y", "no output 'y'")]
)
def test_arguments_that_do_not_fit(pair, tmp_path, old, said) -> None:
    changed = ARRAYS.replace(f'"{old}"', '"z"')
    if old == "y":
        changed = ARRAYS.replace('"y"', '"x2"').replace("// output = true", "")
        changed = "\n".join(changed.splitlines()[:4])
    source = pair(SPEC % ("g", 64, 64, "none", changed) + BODY % "g")
    with pytest.raises(InputError, match=said):
        version(load_spec(source), tmp_path)


def test_its_bytes_identify_a_measurement(pair, tmp_path) -> None:
    new = pair(BODY % "g")
    before = launch_hashes(new, load_spec(new)).digest()
    (tmp_path / "old.cu").write_text(BODY % "h")
    assert launch_hashes(new, load_spec(new)).digest() != before
