"""Files of surveys: their layout, and what is read of one that was cut off."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.support.surveys import unpacked

from kernelprof.collect.survey import reader as frames
from kernelprof.collect.survey.reader import read_survey
from kernelprof.collect.survey.run import SOURCES
from kernelprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

STRUCTURES = {
    frames.HEAD: "head_row",
    frames.CONFIGURATION: "configuration_row",
    frames.KERNEL: "kernel_row",
    frames.TRANSFER: "transfer_row",
    frames.API: "api_row",
    frames.DEVICE: "device_row",
    frames.OVERHEAD: "overhead_row",
    frames.GRAPH: "graph_row",
    frames.RANGE: "range_row",
    frames.MEMORY: "memory_row",
    frames.END: "end_row",
    frames.SERIES: "series_row",
    frames.STALL: "stall_row",
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="this machine has no compiler of C")
def test_rows_are_laid_out_as_the_c_structures_are(tmp_path: Path) -> None:
    assert STRUCTURES.keys() == frames.ROWS.keys()
    lines = ['#include "records.h"', "#include <stdio.h>", "int main(void) {"]
    lines.append('printf("%d\\n", FORMAT);')
    lines += [f'printf("%zu\\n", sizeof(struct {name}));' for name in STRUCTURES.values()]
    source = tmp_path / "sizes.c"
    source.write_text("\n".join([*lines, "return 0;", "}"]), encoding="utf-8")
    program = tmp_path / "sizes"
    subprocess.run(["cc", f"-I{SOURCES}", source, "-o", program], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    sizes = [frames.ROWS[kind].itemsize for kind in STRUCTURES]
    assert [int(each) for each in said] == [frames.FORMAT, *sizes]


def test_numbers_of_kinds_are_those_of_the_header() -> None:
    text = (SOURCES / "records.h").read_text(encoding="utf-8")
    listed = re.search(r"enum frame_kind \{(.*?)\}", text, re.DOTALL)
    assert listed is not None
    for name, number in re.findall(r"(\w+) = (\d+)", listed[1]):
        assert getattr(frames, name) == int(number)


def test_a_whole_file(tmp_path: Path) -> None:
    (file,) = unpacked("jacobi", tmp_path).iterdir()
    found = frames.read_frames(file)
    assert found.whole
    assert found.program == ("/tmp/w/bin/jacobi",)
    assert len(found.select(frames.KERNEL)) == 6064
    assert len(found.select(frames.END)) == 1
    kernels = found.select(frames.KERNEL)
    assert (kernels["end"] > kernels["start"]).all()
    assert set(np.unique(kernels["configuration"])) == set(found.select(frames.CONFIGURATION)["id"])


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    (file,) = unpacked("crash-segv", tmp_path).iterdir()
    data, before = file.read_bytes(), 0
    for size in np.linspace(200, len(data), 40).astype(int).tolist():
        file.write_bytes(data[:size])
        found = frames.read_frames(file)
        kernels = len(found.select(frames.KERNEL))
        assert kernels >= before
        before = kernels
        read_survey(tmp_path)
    assert before == 2000


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    (file,) = unpacked("crash-segv", tmp_path).iterdir()
    data = bytearray(file.read_bytes())
    data[16] = 99  # the first field of the head
    file.write_bytes(data)
    with pytest.raises(InputError, match="another version of kernelprof"):
        read_survey(tmp_path)
    file.write_bytes(b"")
    with pytest.raises(InputError, match="another version of kernelprof"):
        read_survey(tmp_path)
