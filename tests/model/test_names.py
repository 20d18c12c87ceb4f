"""Kernel names in one line."""

from dataclasses import replace

import pytest

from kernelprof.model import names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gemm_bad(const float *, float *, int)", "gemm_bad"),
        ("void gemm_tiled<16, 0, 1>(const float *, int)", "gemm_tiled<16, 0, 1>"),
        ("void gemm_tiled<(int)16, (bool)0>(const float *)", "gemm_tiled<(int)16, (bool)0>"),
        ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
        ("a name of another profiler", "a name of another profiler"),
        (
            "void (anonymous namespace)::scale<float>(float *)",
            "(anonymous namespace)::scale<float>",
        ),
        ("bank_conflict(float const*) [clone .part.0]", "bank_conflict"),
        ("void f<int>(int)::operator()(int) const", "f<int>(int)::operator()"),
        ("unsigned int count(int)", "count"),
        ("void at::run<int>::operator ()<at::Add>(int)", "at::run<int>::operator ()<at::Add>"),
        ("broken>name(", "broken>name("),
        ("unnamed>::gemm_tiled_kernel(const float *)", "gemm_tiled_kernel"),
        ("void unnamed>::transpose_tiled_kernel<32>(float *)", "transpose_tiled_kernel<32>"),
        ("at::<unnamed>::scale(float *)", "at::<unnamed>::scale"),
        ("(int)", "(int)"),
        ("", ""),
    ],
)
def test_short_name(name: str, expected: str) -> None:
    assert names.short_name(name) == expected


def test_a_long_name_is_cut_in_the_middle() -> None:
    assert names.cut_middle("gemm_coalesced", 9) == "gemm…sced"
    assert len(names.cut_middle("x" * 100, 17)) == 17
    assert names.cut_middle("short", 5) == "short"
    assert names.cut_middle("abcdefghij", 7, "...") == "ab...ij"


def test_namespaces_go_before_the_name_is_cut() -> None:
    name = "at::native::vectorized_elementwise_kernel<4>"
    assert names.fit((name, ""), 32) == "vectorized_elementwise_kernel<4>"
    assert names.fit((name, ""), 60) == name
    hidden = "at::<unnamed>::launch<at::Sum<int>>"
    assert names.fit((hidden, ""), 24) == "launch<at::Sum<int>>"
    assert names.fit(("std::broken<name", ""), 12) == "std::b…<name"


def test_what_tells_launches_apart_stays() -> None:
    assert names.fit(("gemm_coalesced", "32x32"), 16) == "gemm_…sced 32x32"
    assert names.fit(("gemm_coalesced", "32x32"), 9) == "gemm…sced"


def test_a_name_cannot_steer_the_terminal() -> None:
    assert names.printable("a\x1b[31mb\nc\x07") == "a\\x1b[31mb c\\x07"
    assert names.printable("bad \udcff byte") == "bad \\udcff byte"


def test_glyphs_that_the_encoding_lacks_have_substitutes() -> None:
    assert names.encodable("17.65 µs … 2×2 — é 中", "ascii") == "17.65 us ... 2x2 - e ?"
    assert names.encodable("17.65 µs …", "latin-1") == "17.65 µs ..."
    assert names.encodable("中", "utf-8") == "中"


def test_plain_template_arguments_get_shorter_before_the_name_is_cut() -> None:
    assert names.fit(("gemm<(int)16, (bool)0>", ""), 10) == "gemm<16,0>"
    assert names.fit(("gemm<(int)16, (bool)0>", ""), 30) == "gemm<(int)16, (bool)0>"


@pytest.mark.parametrize(
    ("kernel", "names_of_page", "expected"),
    [
        ("f<(Mode)0>(int)", ["f<0>", "f<1>"], "f<0>"),
        ("f<(ns::Mode)-1, (int)4>(int)", ["f<-1, 4>", "f<1, 4>"], "f<-1, 4>"),
        ("f<1>(int)", ["f<(Mode)0>(int)", "f<(Mode)1>(int)"], "f<(Mode)1>(int)"),
        ("f<(bool)true>(int)", ["f<true>", "f<false>"], "f<true>"),
        ("void ns::f<(Mode)0>(int)", ["f"], "f"),
        ("f<(Mode)2>(int)", ["f<0>", "f<1>"], None),
        ("f<0>", ["f<0>", "f<(Mode)0>"], "f<0>"),
    ],
)
def test_names_of_other_pages_differ_in_casts(
    kernel: str, names_of_page: list[str], expected: str | None
) -> None:
    assert names.named_alike(kernel, names_of_page) == expected


def test_kernels_of_one_name_are_told_apart(samples) -> None:
    def labels(*blocks: tuple[int, int, int]) -> list[tuple[str, str]]:
        kernels = [
            samples.kernel("f(int)", samples.at_limit, block=block, rows=range(row, row + 1))
            for row, block in enumerate(blocks)
        ]
        return names.labels(kernels)

    assert labels((32, 1, 1)) == [("f", "")]
    assert labels((32, 1, 1), (8, 8, 1)) == [("f", "32"), ("f", "8x8")]
    assert labels((32, 1, 1), (32, 1, 1)) == [("f", "ID 0"), ("f", "ID 1")]
    one = samples.kernel("f(int)", samples.at_limit)
    grids = [replace(one, grid=grid) for grid in ((1, 1, 1), (64, 8, 1))]
    assert names.labels(grids) == [("f", "grid 1"), ("f", "grid 64x8")]
