"""Fixtures that compile kernels, by the compiler that the extra ``predict`` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.prediction.compiler import DeviceCompiler
from kernelprof.prediction.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kernelprof.launch.build.compilation import CompiledCubin

    Compile = Callable[..., CompiledCubin]


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    return find_toolchain()


@pytest.fixture
def compile_cu(toolchain: Toolchain, tmp_path: Path) -> Compile:
    """Compile a text for an architecture, as if it stood in the test's folder."""

    def compiled(
        source: str, *options: str, arch: str = "sm_90", kernel: str = "", home: Path = tmp_path
    ) -> CompiledCubin:
        given: Sequence[str] = options
        return DeviceCompiler(toolchain, kernel).cubin(source, given, arch, home)

    return compiled
