"""Kernels that take PyTorch's packed accessors, and their launches, as text."""

from __future__ import annotations

import pytest

from kernelprof.launch.inference.accessors import rewrite_accessors

KERNEL = """__global__ void k({type} x, int n{more}) {{ {body} }}
void run(at::Tensor t, int m) {{
  k<<<1, 32>>>(t.packed_accessor32<float, 1, torch::RestrictPtrTraits>(), {given}); }}
"""
PLAIN = "at::PackedTensorAccessor32<float, 1>"


def rewritten(
    type: str = PLAIN, body: str = "x[n] = 1;", given: str = "m", more: str = "", head: str = ""
) -> str:
    text = head + KERNEL.format(type=type, body=body, given=given, more=more)
    (result,) = rewrite_accessors([text])
    assert result.count("\n") == text.count("\n")
    return result


@pytest.mark.parametrize(
    "given",
    [
        "m",
        "p->size",
        "m >> 1",
        "m < 3 ? 1 : 2",
        "std::max<int>(m, 3)",
        "f<g<int, 2>, 3>(m, 1)",
        "(m > 1, 2)",
        "int{m}",
    ],
)
def test_a_launch_passes_data_and_sizes(given: str) -> None:
    text = rewritten(given=given)
    assert "void k(float* x__data, int x__size_0_by_n, int n)" in text
    assert f"k<<<1, 32>>>(t.data_ptr(), t.size(0), {given})" in text


@pytest.mark.parametrize(
    ("type", "parameter"),
    [
        ("const torch::PackedTensorAccessor64<const float, 1>", "const float* x__data, long long"),
        ("const torch::PackedTensorAccessor32<float, 1>", "const float* x__data, int"),
        (
            "at::PackedTensorAccessor<float, 1, at::RestrictPtrTraits, int32_t>",
            "float* x__data, int",
        ),
        (
            "at::PackedTensorAccessor<float, 1, at::RestrictPtrTraits, int64_t>",
            "float* x__data, long long",
        ),
    ],
)
def test_sizes_have_the_type_of_the_index(type: str, parameter: str) -> None:
    assert f"void k({parameter} x__size_0_by_n, int n)" in rewritten(type)


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "at::PackedTensorAccessor<float, 1, at::RestrictPtrTraits, index_t>"},
        {"more": ", int by = 2"},
        {"given": "m, 1"},
        {"body": "x[n] = sum(x);"},
    ],
    ids=["unknown index", "default argument", "other arguments", "used whole"],
)
def test_a_kernel_stays_with_its_launches_as_it_was(changes: dict[str, str]) -> None:
    text = rewritten(**changes)
    assert "__data" not in text
    assert "k<<<1, 32>>>(t.packed_accessor32<float" in text


def test_a_mention_before_the_launch_is_no_launch() -> None:
    (text,) = rewrite_accessors(
        [
            KERNEL.format(type=PLAIN, body="x[n] = 1;", given="m", more="").replace(
                "  k<", "  f(k), k<"
            )
        ]
    )
    assert "f(k), k<<<1, 32>>>(t.data_ptr(), t.size(0), m)" in text


def test_one_kernel_stays_and_another_does_not() -> None:
    other = KERNEL.replace("k", "other", 1).replace("  k<<<", "  other<<<").replace("run", "run2")
    text = KERNEL.format(type=PLAIN, body="x[n] = 1;", given="m", more="")
    (result,) = rewrite_accessors(
        [text + other.format(type=PLAIN, body="x[n] = 2;", given="m, 1", more="")]
    )
    assert "void k(float* x__data" in result
    assert f"void other({PLAIN} x" in result


def test_comments_end_and_literals_stay() -> None:
    body = '// x is a vector\n x[n] = f(\'"\', "/* y //"); /* x */'
    text = rewritten(body=body, head="// at::PackedTensorAccessor32<float, 1> x\n")
    assert 'f(\'"\', "/* y //")' in text
    assert "is a vector" not in text
    assert "x__data[(n)] = f(" in text


def test_a_member_of_the_same_name_is_another() -> None:
    text = rewritten(body="x[n] = s->x[0][1] + s.x;")
    assert "x__data[(n)] = s->x[0][1] + s.x;" in text
