"""The text of ``nvdisasm``: lines, labels, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sassim.disassembler import disassemble
from sassim.errors import DisassemblerError

SOURCE = """\
#line 1 "/sources/k.cu"
__device__ inline float f(float a) { return a * 3.0f; }
extern "C" __global__ void k(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += 32) {
        y[i] = f(x[i]);
    }
}
"""


def test_it_has_labels_and_lines_with_what_is_inlined(compile_cu, toolchain) -> None:
    text = disassemble(compile_cu(SOURCE, "-lineinfo").cubin, toolchain.nvdisasm)
    assert ".text.k:" in text
    assert ".L_x_0:" in text
    assert '//## File "/sources/k.cu", line 1 inlined at "/sources/k.cu", line 4' in text
    assert text.count("STG.E") >= 1


def test_a_cubin_is_disassembled_once(compile_cu, toolchain, monkeypatch) -> None:
    cubin = compile_cu(SOURCE.replace("3.0f", "5.0f")).cubin
    monkeypatch.setattr("sassim.disassembler._LISTINGS", {})
    first = disassemble(cubin, toolchain.nvdisasm)
    monkeypatch.setattr("subprocess.Popen", None)
    assert disassemble(cubin, toolchain.nvdisasm) == first


def test_it_leaves_no_file(compile_cu, toolchain, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sassim.disassembler._LISTINGS", {})
    disassemble(compile_cu(SOURCE).cubin, toolchain.nvdisasm)
    assert not list(tmp_path.iterdir())


def test_what_is_no_cubin_is_told(toolchain) -> None:
    with pytest.raises(DisassemblerError, match="cannot disassemble the compiled kernel") as caught:
        disassemble(b"no cubin", toolchain.nvdisasm)
    assert caught.value.where == str(toolchain.nvdisasm)
    assert "nvidia-cuda-nvdisasm" in (caught.value.hint or "")


def test_a_program_that_cannot_be_run_is_told() -> None:
    with pytest.raises(DisassemblerError, match="No such file"):
        disassemble(b"", Path("/no/nvdisasm"))
