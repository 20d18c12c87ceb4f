"""The library that records, compiled where this machine has what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.collect.survey import run as library
from kernelprof.errors import MissingToolError

if TYPE_CHECKING:
    from pathlib import Path

NVTX = "nvtx3/nvToolsExt.h"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, library.Cupti]:
    """The library, where this machine has what it is compiled of."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        try:
            cupti = library.find_cupti()
            made = library.build(cupti)
        except MissingToolError as error:
            pytest.skip(error.what)
        assert library.build(cupti) == made
        assert made.stat().st_mtime_ns == library.build(cupti).stat().st_mtime_ns
    return made, cupti


@pytest.fixture
def with_nvtx(built: tuple[Path, library.Cupti]) -> list[str]:
    """What a compiler of C needs for programs that use NVTX."""
    _, cupti = built
    includes = [each for some in cupti.includes for each in some]
    if not any((each / NVTX).is_file() for each in includes):
        pytest.skip("this machine has no headers of NVTX")
    return [f"-I{each}" for each in includes]
