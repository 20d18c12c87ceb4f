"""Kernels of libraries by what they are instances of: operator, architecture and tile."""

from pathlib import Path

import kernelprof
from kernelprof.model.names import brief_labels, labels

CAPTURES = Path(__file__).parents[1] / "captures"
MULTIPLY = "at::{}<float, float, float, binary_internal::MulFunctor<float>>"
COMPOSED = (
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, "
    "int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmma<(int)7, "
    "cute::tuple<cute::C<(int)2>, cute::C<(int)1>, cute::C<(int)1>>>, cute::tuple<cute::C<(int){}>,"
    " cute::C<(int)128>, cute::C<(int)64>>, cutlass::half_t>>>(T1::Params)"
)
OF_VERSION_2 = (
    "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaMultistage<"
    "cutlass::gemm::GemmShape<128, 256, 32>, cutlass::gemm::GemmShape<64, 64, 32>, "
    "cutlass::arch::Sm80>>>(T1::Params)"
)


def of_capture(name: str) -> list[tuple[str, str]]:
    return brief_labels(kernelprof.read(CAPTURES / name).diagnose().kernels)


def of_names(samples, *texts: str) -> list[tuple[str, str]]:
    return labels([samples.kernel(text, samples.at_limit) for text in texts])


def elementwise(functor: str) -> str:
    return f"void at::vectorized_elementwise_kernel<4, {functor}, std::array<char *, 2>>(int)"


def test_operators_of_pytorch_are_named() -> None:
    called = of_capture("h200_frameworks/torch-activation-not-compiled/before")
    assert sorted(called) == [
        ("vectorized_elementwise_kernel", "AUnaryFunctor Mul"),
        ("vectorized_elementwise_kernel", "BinaryFunctor Mul"),
        ("vectorized_elementwise_kernel", "add"),
        ("vectorized_elementwise_kernel", "sigmoid"),
    ]
    (alone,) = of_capture("h200_frameworks/torch-add-transposed-operand/before")
    assert alone == ("elementwise_kernel", "add")


def test_kernels_of_a_program_have_names_of_their_own() -> None:
    called = of_capture("surveyed/encoder")
    assert len(set(called)) == len(called) == 50
    assert not any(name in ("Kernel", "Kernel2") for name, _ in called)
    details = {detail for _, detail in called}
    assert {"addcmul grid 1024", "sqrt grid 1024", "masked_scale grid 4096", "clamp_scalar"} < (
        details
    )
    assert ("cutlass_80_simt_sgemm_128x64_8x5_nt_align1", "") in called
    assert ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8", "") in called


def test_the_briefest_form_that_differs_is_taken(samples) -> None:
    binary, unary = (
        elementwise(MULTIPLY.format(f"{kind}Functor")) for kind in ("Binary", "AUnary")
    )
    name = "vectorized_elementwise_kernel"
    assert of_names(samples, unary) == [(name, "Mul")]
    assert of_names(samples, unary, binary) == [
        (name, "AUnaryFunctor Mul"),
        (name, "BinaryFunctor Mul"),
    ]
    adds = [elementwise(f"at::CUDAFunctor_add<{kind}>") for kind in ("float", "c10::Half")]
    assert of_names(samples, *adds) == [
        (name, "CUDAFunctor_add float"),
        (name, "CUDAFunctor_add Half"),
    ]


def test_cutlass_has_its_architecture_and_tile(samples) -> None:
    assert of_names(samples, COMPOSED.format(128), COMPOSED.format(64), OF_VERSION_2) == [
        ("GemmUniversal", "sm90 128x128x64"),
        ("GemmUniversal", "sm90 64x128x64"),
        ("Gemm", "sm80 128x256x32"),
    ]
    whole = "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_128x128x64_2x1x1_0_tnn_align8"
    assert of_names(samples, f"void cutlass::device_kernel<{whole}>(T1::Params)") == [(whole, "")]


def test_kernels_of_the_reader_keep_their_names(samples) -> None:
    own = ("void Kernel<int>(int)", "void device_kernel<4>(float *)", "device_kernel(float *)")
    assert of_names(samples, *own) == [
        ("Kernel<int>", ""),
        ("device_kernel<4>", ""),
        ("device_kernel", ""),
    ]


def test_hostile_names_are_read(samples) -> None:
    huge = OF_VERSION_2.replace("128, 256", "9" * 5000)
    assert of_names(samples, huge) == [("Gemm", "sm80 64x64x32")]
    assert of_names(samples, "void cutlass::Kernel<>(T1)") == [("cutlass::Kernel<>", "")]
