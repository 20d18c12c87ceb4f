"""Filters that pick one kernel: names as ncu shows them against the names that it matches.

The pairs were observed with ncu 2025.3.1, most of them in one report of one program.
"""

from __future__ import annotations

import re

import pytest

from kernelprof.model.kernel_name import function_name, kernel_filter

SHOWN_AND_FULL = [
    ("plain", "plain"),
    ("in::flat(float *)", "ns::in::flat(float *)"),
    ("over(float *, int)", "over(float *, int)"),
    ("void tile<16>(float *)", "void tile<(int)16>(float *)"),
    ("void tile<116>(float *)", "void tile<(int)116>(float *)"),
    ("void tile<(int)-3>(float *)", "void tile<(int)-3>(float *)"),
    (
        "void kinds<1, 3, 65, 7, (int)-5>(float *)",
        "void kinds<(bool)1, (unsigned int)3, (char)65, (unsigned long)7, (int)-5>(float *)",
    ),
    ("void enums<1, 1>(float *)", "void enums<(E)1, (ns::G)1>(float *)"),
    ("void types<float>(T1 *)", "void types<float>(T1 *)"),
    ("void types<float *>(T1 *)", "void types<float *>(T1 *)"),
    ("void types<unsigned int>(T1 *)", "void types<unsigned int>(T1 *)"),
    ("void types<P>(T1 *)", "void types<ns::P>(T1 *)"),
    ("void types<Box<P, 4>>(T1 *)", "void types<ns::Box<ns::P, (int)4>>(T1 *)"),
    (
        "void pairs<float, ns::Box<float, 2>>(T1 *, T2)",
        "void pairs<float, ns::Box<float, (int)2>>(T1 *, T2)",
    ),
    ("void vec<float>(T1 *, int)", "void ns::vec<float>(T1 *, int)"),
    ("void <unnamed>::hid<5>(float *)", "void <unnamed>::hid<(int)5>(float *)"),
    ("void fptr<&twice>(float *)", "void fptr<&twice>(float *)"),
    (
        "void at::vectorized_elementwise_kernel<4, at::BinaryFunctor<float, float, float,"
        " binary_internal::MulFunctor<float>>, std::array<char *, 3>>(int, T2, T3)",
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::BinaryFunctor<float,"
        " float, float, at::native::binary_internal::MulFunctor<float>>, std::array<char *,"
        " (unsigned long)3>>(int, T2, T3)",
    ),
    (
        "void unnamed>::cunn_SoftMaxForwardReg<float, unnamed>::SoftMaxForwardEpilogue, long, 4>"
        "(T3 *, const T1 *, T5)",
        "void at::native::<unnamed>::cunn_SoftMaxForwardReg<float, at::native::<unnamed>::"
        "SoftMaxForwardEpilogue, long, (int)4>(T3 *, const T1 *, T5)",
    ),
]


def _picks(options: list[str], full: str) -> bool:
    """Whether ncu takes a kernel of this full name."""
    base = options[options.index("--kernel-name-base") + 1] if len(options) > 2 else "function"
    name = options[options.index("--kernel-name") + 1]
    if base == "demangled":
        assert name.startswith("regex:")
        return re.search(name.removeprefix("regex:"), full) is not None
    return name == function_name(full)


@pytest.mark.parametrize(("shown", "full"), SHOWN_AND_FULL)
def test_a_filter_picks_its_own_kernel_and_no_other(shown: str, full: str) -> None:
    options = kernel_filter(shown)
    assert [each for _, each in SHOWN_AND_FULL if _picks(options, each)] == [full]


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("scale(float *, float, int)", "scale"),
        ("void ns::scale<float, 4>(float *, int)", "scale"),
        ("void Outer<int, 3>::run<4>(float (*)(int), int)", "run"),
        ("<unnamed>::hid(float *)", "hid"),
        ("unnamed>::hid(float *)", "hid"),
        ("void lam<main::[lambda(float) (instance 1)]>(T1, float *)", "lam"),
        ("void lam<lambda(float) (instance 1)]>(T1, float *)", "lam"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("bins-global/bins_global(const unsigned int *, unsigned int *, int)", "bins_global"),
        ("tile-32/void transpose_tile<(int)32>(const float *, int)", "transpose_tile"),
    ],
)
def test_the_function_name(kernel: str, name: str) -> None:
    assert function_name(kernel) == name


def test_a_name_without_template_arguments_is_matched_exactly() -> None:
    assert kernel_filter("gemm_bad(const float *, int)") == ["--kernel-name", "gemm_bad"]


def test_template_arguments_of_unknown_form_leave_the_bare_name() -> None:
    shown = "void lam<main::[lambda(float) (instance 1)]>(T1, float *)"
    assert kernel_filter(shown) == ["--kernel-name", "lam"]


def test_a_mangled_name() -> None:
    assert kernel_filter("_Z4tileILi16EEvPf") == [
        "--kernel-name-base",
        "mangled",
        "--kernel-name",
        "_Z4tileILi16EEvPf",
    ]
