"""References: what the built-in ones compute, and how a user's own is found."""

from __future__ import annotations

import numpy as np
import pytest

from kernelprof.errors import KernelprofError
from kernelprof.launch.check.references import BUILTINS, Case, compute_expected

RANDOM = np.random.default_rng(5)
A, B, C = (RANDOM.random(shape) for shape in ((3, 4), (4, 5), (3, 5)))
X, Y = RANDOM.random((2, 7))
NAN = np.full((3, 5), np.nan)
SIZES = {"M": 3, "N": 5, "K": 4}


def _case(inputs, output, sizes=SIZES, **scalars):
    named = {f"in{index}": array for index, array in enumerate(inputs)}
    return Case(named, {"out": output}, scalars, sizes)


EXAMPLES = {
    "gemm": (_case([A, B], NAN), A @ B),
    "gemm_nt": (_case([A, B.T], NAN), A @ B),
    "gemm_tn": (_case([A.T, B], NAN), A @ B),
    "gemv": (_case([A, X[:4]], np.full(3, np.nan)), A @ X[:4]),
    "copy": (_case([A], A), A),
    "transpose": (_case([A], A.T), A.T),
    "scale": (_case([X], Y, factor=3.0), 3 * X),
    "add": (_case([X, Y], X), X + Y),
    "saxpy": (_case([X], Y, a=2.0), 2 * X + Y),
    "sum": (_case([X], X[:1]), [X.sum()]),
    "max": (_case([X], X[:1]), [X.max()]),
    "dot": (_case([X, Y], X[:1]), [X @ Y]),
    "softmax": (_case([A], A), np.exp(A) / np.exp(A).sum(axis=1, keepdims=True)),
}


def test_there_is_an_example_of_each() -> None:
    assert set(EXAMPLES) == set(BUILTINS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_built_in_reference(name, tmp_path) -> None:
    case, wanted = EXAMPLES[name]
    found = compute_expected(name, case, tmp_path)["out"]
    assert found.shape == case.outputs["out"].shape
    np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-14)


def test_gemm_with_alpha_and_beta(tmp_path) -> None:
    found = compute_expected("gemm", _case([A, B], C, alpha=2.0, beta=0.5), tmp_path)["out"]
    np.testing.assert_allclose(found, 2 * A @ B + 0.5 * C)
    found = compute_expected("gemm", _case([A, B], NAN, alpha=2.0, beta=0.0), tmp_path)["out"]
    np.testing.assert_allclose(found, 2 * A @ B)


def test_flat_arrays_take_their_shape_from_the_sizes(tmp_path) -> None:
    flat = _case([A.ravel(), B.ravel()], NAN.ravel())
    found = compute_expected("gemm", flat, tmp_path)["out"]
    np.testing.assert_allclose(found, (A @ B).ravel())
    with pytest.raises(KernelprofError, match="without sizes M and K"):
        compute_expected("gemm", _case([A.ravel(), B.ravel()], NAN.ravel(), {}), tmp_path)


@pytest.mark.parametrize(
    ("name", "case", "said"),
    [
        ("gemm", _case([A], NAN), "takes 2 input arrays"),
        ("gemm", _case([A, A], NAN), "cannot be computed from"),
        ("gemm", _case([A, B], A), "has shape"),
        ("scale", _case([X], X), "its parameter must be named a or alpha"),
        ("gem", _case([A, B], NAN), "no built-in reference"),
    ],
)
def test_what_does_not_fit_is_said(name, case, said, tmp_path) -> None:
    with pytest.raises(KernelprofError, match=said):
        compute_expected(name, case, tmp_path)


MODULE = """
import neighbour

def by_name(in0, M, *, factor=2.0):
    return in0 * M * factor

def everything(**known):
    known["in0"][:] = 0
    return {"out": known["in1"] * neighbour.TWO}

def several(in0):
    return in0, in0

def strange(nothing):
    return nothing

def failing(in0):
    raise RuntimeError("no result today")

def words(in0):
    return ["a"] * in0.size

def short(in0):
    return in0[:2]

def none_of_it():
    return {}

number = 3
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "neighbour.py").write_text("TWO = 2\n")
    return tmp_path


def test_a_function_of_the_users(folder) -> None:
    case = _case([X, Y], X)
    np.testing.assert_allclose(compute_expected("mine:by_name", case, folder)["out"], X * 6)
    np.testing.assert_allclose(compute_expected("mine:everything", case, folder)["out"], Y * 2)
    assert case.inputs["in0"].all()


def test_a_function_may_change_its_arrays(folder) -> None:
    (folder / "changing.py").write_text(
        "def both(x, out):\n    x *= 2\n    out[:] = x\n    return out\n", encoding="utf-8"
    )
    x, out = X.copy(), np.broadcast_to(np.nan, X.shape)
    found = compute_expected("changing:both", Case({"x": x}, {"out": out}), folder)
    assert np.array_equal(found["out"], 2 * X)
    assert np.array_equal(x, X)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mine:strange", "a parameter 'nothing'"),
        ("mine:failing", "RuntimeError: no result today"),
        ("mine:words", "and type <U1"),
        ("mine:short", "has shape"),
        ("mine:none_of_it", "no result for the output 'out'"),
        ("mine:number", "no function 'number'"),
        ("mine:missing", "no function 'missing'"),
        ("nowhere_at_all:f", "cannot be imported"),
    ],
)
def test_what_goes_wrong_in_it_is_said(name, said, folder) -> None:
    with pytest.raises(KernelprofError, match=said) as caught:
        compute_expected(name, _case([X], X), folder)
    assert caught.value.where == name
