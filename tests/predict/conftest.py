"""What tests of this folder share: the toolchain, which the extra ``predict`` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.predict.compile import DeviceCompiler
from kernelprof.predict.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kernelprof.launch.cubin import Compiled

    Compile = Callable[..., Compiled]


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    return find_toolchain()


@pytest.fixture
def compile_cu(toolchain: Toolchain, tmp_path: Path) -> Compile:
    """Compile a text for an architecture, as if it stood in the test's folder."""

    def compiled(
        source: str, *options: str, arch: str = "sm_90", kernel: str = "", home: Path = tmp_path
    ) -> Compiled:
        given: Sequence[str] = options
        return DeviceCompiler(toolchain, kernel).cubin(source, given, arch, home)

    return compiled
