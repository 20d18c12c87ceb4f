"""Results beside their reference: what is said of a wrong one, and which references are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelprof.launch.arrays import compare, encode, poisoned
from kernelprof.launch.read_spec import load_spec
from kernelprof.launch.references import Case
from kernelprof.launch.results import refuse_circular, sizes_text, wrong_result
from kernelprof.launch.trial import LaunchError

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
    stored[2:] = poisoned("float32", (2, 2))
    assert said(stored).what == (
        f"the kernel's result is wrong: C holds NaN where gemm has none, at {SIZES}; 4 of its "
        "elements were never written; C[2, 0] is nan and should be 5"
    )


def test_integers_have_a_poison_of_their_own(said) -> None:
    stored = _right("int32")
    stored[3, 1] = poisoned("int32", ())
    poison = int.from_bytes(b"\xcd" * 4, "little", signed=True)
    what = said(stored, "int32").what
    assert "; 1 of its elements were never written; " in what
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
    with pytest.raises(LaunchError, match="gives NaN for y, and no input holds one") as caught:
        refuse_circular(_case(x=[1, 2]), wanted, "k.cu, kernel saxpy", "saxpy")
    assert 'fill = "random"' in (caught.value.hint or "")
    refuse_circular(_case(x=[1, np.nan]), wanted, "k.cu, kernel k", "copy")
    refuse_circular(_case(x=[1, 2]), {"y": np.ones(2)}, "k.cu, kernel k", "copy")
