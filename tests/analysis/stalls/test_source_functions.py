"""Functions of a source and their calls, from its text."""

from __future__ import annotations

from pathlib import Path

from kernelprof.analysis.stalls.source_functions import find_calls, find_function, find_functions

TEXT = """\
// void not_this() {
#define OTHER(x) { x }
namespace deep {
constexpr int table[2] = {1, 2};
template <int N>
__device__ float twice(float x) {
    const char* brace = "{ // }";
    return x + x;
}
}
struct Point { int x; };
extern "C" __global__ void __launch_bounds__(256, 2)
    kernel(float* a) {
    a[0] = deep::twice<2>(a[0]) + twice(1);  // twice(2)
    if (a[1] > 0) { a[1] = 0; }
}
"""


def test_functions_with_their_lines() -> None:
    found = [(each.name, each.first, each.last) for each in find_functions(TEXT)]
    assert found == [("twice", 5, 9), ("kernel", 12, 16)]


def test_who_calls_a_helper() -> None:
    helper = find_function(TEXT, 8)
    assert helper is not None
    assert find_calls(TEXT, helper) == (14,)
    assert find_function(TEXT, 11) is None


def test_every_kernel_of_the_corpus_has_its_function() -> None:
    for path in sorted((Path(__file__).parents[3] / "cuda" / "pairs").glob("*/before.cu")):
        text = path.read_text(encoding="utf-8")
        assert "__global__" in text
        line = 1 + text.count("\n", 0, text.index("{", text.index("__global__")))
        assert find_function(text, line) is not None, path.parent.name


def test_text_that_is_no_code_has_none() -> None:
    assert find_functions("}}}{{{") == find_functions("") == find_functions("int x = f(2); {") == ()
