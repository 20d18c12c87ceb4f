"""Values of arguments from a file: mapped, so that what it says of itself takes no memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from kernelprof.launch.arrays import _loaded
from kernelprof.launch.keys import SpecError


def test_an_array_that_says_it_is_larger_than_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(4, dtype=np.float32))
    assert _loaded(path, "a").tolist() == [0, 0, 0, 0]
    data = path.read_bytes()
    shape = b"(4,), }"
    assert shape in data
    huge = b"(4444444444444,), }"
    path.write_bytes(data.replace(shape + b" " * (len(huge) - len(shape)), huge))
    with pytest.raises(SpecError, match="cannot be read"):
        _loaded(path, "a")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(SpecError, match="a pipe or a device"):
            _loaded(place, "a")
