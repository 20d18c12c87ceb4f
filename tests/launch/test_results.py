"""Results beside their reference: what is said of a wrong one, and which references are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelprof.errors import InputError
from kernelprof.launch.check.arrays import compare, encode, poison_array
from kernelprof.launch.check.references import Case
from kernelprof.launch.check.results import load_version, refuse_circular, sizes_text, wrong_result
from kernelprof.launch.run.trial import LaunchError
from kernelprof.launch.source import launch_hashes
from kernelprof.launch.specification.reader import load_spec

SIZES = "M=256, N=96, K=1024"


@pytest.fixture
def said(sgemm_cu):
    """What is said of a 4 x 2 result that should hold 1 to 8."""
    spec = load_spec(sgemm_cu)
    launch = spec.resolve(spec.check_sizes)
    expected = np.arange(1.0, 9.0).reshape(4, 2)

    def say(stored, type_name="float32", tolerance=1e-4):
        found = compare("C", type_name, stored, expected, tolerance)
        assert not found.passed
        return wrong_result(found, launch, "sgemm.cu, kernel sgemm", "gemm")

    return say


def _right(type_name="float32"):
    return encode(np.arange(1.0, 9.0).reshape(4, 2), type_name)


def test_the_element_that_is_furthest_off_is_shown(said) -> None:
    stored = _right()
    stored[1, 0] = 3.25
    stored[3, 1] = -2.5
    error = said(stored)
    off = math.hypot(0.25, 10.5) / math.sqrt(sum(n * n for n in range(1, 9)))
    assert error.what == (
        f"the kernel's result is wrong: C differs from gemm by {off:.3g} (relative; 0.0001 is "
        f"allowed) at {SIZES}; C[3, 1] is -2.5 and should be 8"
    )
    assert (error.where, error.exit_code) == ("sgemm.cu, kernel sgemm", 2)
    assert "[check] tolerance" in (error.hint or "")


def test_elements_that_were_never_written_are_counted(said) -> None:
    stored = _right()
    stored[2:] = poison_array("float32", (2, 2))
    assert said(stored).what == (
        f"the kernel's result is wrong: C contains NaN where gemm has none, at {SIZES}; 4 "
        "elements of C were never written or are NaN; C[2, 0] is nan and should be 5"
    )


def test_integers_have_a_poison_of_their_own(said) -> None:
    stored = _right("int32")
    stored[3, 1] = poison_array("int32", ())
    poison = int.from_bytes(b"\xcd" * 4, "little", signed=True)
    what = said(stored, "int32").what
    assert (
        "; 1 element of C was never written or is 0xCD in every byte, as before the launch; "
        in what
    )
    assert what.endswith(f"C[3, 1] is {poison:.6g} and should be 8")


def test_an_infinite_result_is_no_number_to_compare(said) -> None:
    stored = _right()
    stored[0, 1] = np.inf
    assert said(stored).what == (
        "the kernel's result is wrong: C differs from gemm by inf (relative; 0.0001 is allowed) "
        f"at {SIZES}; C[0, 1] is inf and should be 2"
    )


def test_sizes_for_a_message() -> None:
    assert sizes_text({"n": 1000}) == "n=1000"
    assert sizes_text({"M": 1, "N": 2, "K": 3}) == "M=1, N=2, K=3"
    assert sizes_text({}) == "its fixed sizes"


def _case(**inputs):
    return Case(inputs={k: np.asarray(v, float) for k, v in inputs.items()}, outputs={})


def test_a_reference_that_reads_an_output_without_values_is_refused() -> None:
    """Its NaN would be equal to the poison of an output that nobody wrote."""
    wanted = {"y": np.array([np.nan, np.nan])}
    with pytest.raises(
        LaunchError, match="gives NaN for y, although no input contains NaN"
    ) as caught:
        refuse_circular(_case(x=[1, 2]), wanted, "k.cu, kernel saxpy", "saxpy")
    assert 'fill = "random"' in (caught.value.hint or "")
    refuse_circular(_case(x=[1, np.nan]), wanted, "k.cu, kernel k", "copy")
    refuse_circular(_case(x=[1, 2]), {"y": np.ones(2)}, "k.cu, kernel k", "copy")


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
    source, old = load_version(spec, tmp_path)
    assert (source, old.kernel, old.reference) == (tmp_path / "old.cu", "g", "none")
    assert old.resolve().grid == (4, 1, 1)
    assert [each.seed for each in old.arguments] == [0, 1]


def test_its_own_specification_counts_with_the_new_arguments(pair, tmp_path) -> None:
    swapped = "\n".join([*ARRAYS.splitlines()[4:], *ARRAYS.splitlines()[:4]])
    text = SPEC % ("g", 64, 64, "copy", swapped) + BODY % "g"
    _, old = load_version(load_spec(pair(text)), tmp_path)
    assert (old.resolve().block, old.resolve().grid) == ((64, 1, 1), (16, 1, 1))
    # The values are those of the new one: their seeds follow from its places.
    assert [(each.name, each.seed) for each in old.arguments] == [("y", 1), ("x", 0)]


@pytest.mark.parametrize(
    ("old", "said"), [("x", "has an array 'z', but the kernel does not"), ("y", "no output 'y'")]
)
def test_arguments_that_do_not_fit(pair, tmp_path, old, said) -> None:
    changed = ARRAYS.replace(f'"{old}"', '"z"')
    if old == "y":
        changed = ARRAYS.replace('"y"', '"x2"').replace("// output = true", "")
        changed = "\n".join(changed.splitlines()[:4])
    source = pair(SPEC % ("g", 64, 64, "none", changed) + BODY % "g")
    with pytest.raises(InputError, match=said):
        load_version(load_spec(source), tmp_path)


def test_its_bytes_identify_a_measurement(pair, tmp_path) -> None:
    new = pair(BODY % "g")
    before = launch_hashes(new, load_spec(new)).digest()
    (tmp_path / "old.cu").write_text(BODY % "h")
    assert launch_hashes(new, load_spec(new)).digest() != before
