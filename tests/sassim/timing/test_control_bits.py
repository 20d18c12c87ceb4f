"""What machine code says of its own timing, for several architectures."""

from __future__ import annotations

import pytest

from sassim.disassembler import disassemble
from sassim.sass.cubin import read_machine_code
from sassim.sass.listing import parse_functions
from sassim.timing.control_bits import SCOREBOARDS, decode_control_bits

SOURCE = """\
extern "C" __global__ void k(const float* x, float* y, int n) {
    __shared__ float tile[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += 256) {
        tile[threadIdx.x] = x[i];
        __syncthreads();
        sum = fmaf(tile[255 - threadIdx.x], sum, rsqrtf(x[i]));
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}
"""
LATER = {"LDG", "LDS", "MUFU"}
"""What a scoreboard says the end of."""
FIXED = {"FFMA", "FADD", "FMUL", "LOP3", "ISETP"}
"""What takes as long as its stall says."""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_scoreboards_and_stalls(arch: str, compile_cu, toolchain) -> None:
    cubin = compile_cu(SOURCE, arch=arch).cubin
    (function,) = parse_functions(disassemble(cubin, toolchain.nvdisasm)).values()
    said = decode_control_bits(read_machine_code(cubin)["k"])
    assert len(said) >= len(function.instructions) > 20
    raised = {each.result for each in said} | {each.operands for each in said}
    waited = {board for each in said for board in each.waits}
    assert waited
    assert waited <= raised - {None} <= set(range(SCOREBOARDS))
    seen = set()
    for i, each in zip(function.instructions, said, strict=False):
        assert 1 <= each.stall <= 15
        seen.add(i.opcode)
        if i.opcode in LATER:
            assert each.result is not None, i.text
        if i.opcode in FIXED:
            assert each.result is None, i.text
    assert seen >= {"LDG", "LDS", "MUFU", "FFMA"}
