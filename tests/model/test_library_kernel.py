"""Kernels of libraries are told from others by their names, however ncu shortens them."""

from __future__ import annotations

import pytest

from kernelprof.model.library_kernel import KernelRole, library_of

OF_LIBRARIES = {
    ("cuBLAS", KernelRole.PRODUCT): [
        "ampere_sgemm_128x64_nn",
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn",
        "nvjet_sm90_hsh_256x8_64x6_4x1_v_bz_splitK_NNT",
        "sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_execute_kernel__5x_cublas",
        "void cublasLt::splitKreduce_kernel<32, 16, int>(T6)",
    ],
    ("cuDNN", KernelRole.PRODUCT): [
        "sm80_xmma_fprop_implicit_gemm_f32f32_tilesize256x64x8_execute_kernel__5x_cudnn",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float>(T1)",
    ],
    ("cuDNN", KernelRole.ATTENTION): [
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64",
    ],
    ("cuDNN", KernelRole.OPERATION): [
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512>(T1)",
    ],
    ("CUTLASS", KernelRole.PRODUCT): [
        "void cutlass::Kernel<cutlass_80_simt_sgemm_128x256_8x4_tt_align1>(T1::Params)",
    ],
    ("FlashAttention", KernelRole.ATTENTION): [
        "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64>>(T1)",
    ],
    ("PyTorch", KernelRole.OPERATION): [
        "void at::native::vectorized_elementwise_kernel<(int)4, "
        "at::native::AbsFunctor<float>>(int)",
        "void at::<unnamed>::cunn_SoftMaxForwardReg<float, float>(T3 *)",
        "void native::<unnamed>::RowwiseMomentsCUDAKernel<c10::Half>(long)",
        "void <unnamed>::elementwise_kernel_with_index<int, native::arange_cuda_out(long)>(int)",
        "my range/void at::reduce_kernel<512, 1, at::ReduceOp<float>>(T3)",
    ],
    ("CUB", KernelRole.PRIMITIVE): [
        "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float>>(T2)",
        "void scan::DeviceScanKernel<scan::policy_hub<long, long>::Policy1000, const long *>(T2)",
    ],
    ("Thrust", KernelRole.PRIMITIVE): [
        "void thrust::cuda_cub::core::_kernel_agent<float>(T1)",
    ],
    ("PyTorch Inductor", KernelRole.GENERATED): [
        "triton_poi_fused_add_mul_0",
    ],
    ("Triton", KernelRole.GENERATED): [
        "square_kernel_0d1d234",
    ],
    ("NCCL", KernelRole.MESSAGE): [
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm *)",
    ],
}
"""As ncu wrote them; cub::, Thrust, Winograd, Inductor and NCCL by the libraries' sources."""

OWN = (
    "gemm_tiled<16, 0, 0>(const float *, const float *, float *, int, int, int)",
    "void unnamed>::gemm_tiled_kernel<32>(const float *)",
    "nativeScale(float *)",
    "flash_attention_v2(float *)",
    "void my_op<c10::Half>(at::Tensor)",
    "void scatter_kernel<float>(at::PackedTensorAccessor32<float, 2>)",
    "void elementwise_kernel<float>(float *)",
    "reduce_kernel(float *, int)",
    "DeviceReduceKernel(float *)",
    "_Z4scalePff",
    "triton_like_matmul",
    "",
)


@pytest.mark.parametrize(
    ("library", "kernel"),
    [(library, kernel) for library, kernels in OF_LIBRARIES.items() for kernel in kernels],
)
def test_a_library_is_recognized(library: tuple[str, KernelRole], kernel: str) -> None:
    found = library_of(kernel)
    assert found is not None
    assert (found.name, found.kind) == library


@pytest.mark.parametrize("kernel", OWN)
def test_others_are_the_readers_own(kernel: str) -> None:
    assert library_of(kernel) is None
