"""Lines that comments of a new specification name are those of the file that it is in."""

from __future__ import annotations

import re

from kernelprof.launch.initialise import draft

LAUNCHED = """
template <typename T> __global__ void fill(T* y, T value, int n) {
    int i = blockIdx.x * 192 + threadIdx.x;
    if (i < n) y[i] = value;
}
"""
LAUNCH = "    fill<<<6, 192>>>(d, 3.5f, 1000);"


def places(text):
    """The lines that comments of a specification name."""
    return [int(each) for each in re.findall(r"  # .*?line (\d+)", text)]


def test_lines_are_those_of_the_file_with_the_specification(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(f"{LAUNCHED}void go(float* d) {{\n{LAUNCH}\n}}\n")
    for _ in range(2):
        path.write_text(draft(path, force=True).text)
        text = path.read_text()
        assert places(text) == [text.splitlines().index(LAUNCH) + 1] * 4
    longer = text.replace("// reference", "// # one more line\n// reference")
    assert longer != text
    path.write_text(f"// Above.\n{longer}")
    text = draft(path, force=True).text
    assert places(text) == [text.splitlines().index(LAUNCH) + 1] * 4


def test_a_launch_above_the_specification_stays_where_it_is(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(LAUNCHED)
    specified = draft(path).text
    path.write_text(f"void go(float* d) {{\n{LAUNCH}\n}}\n{specified}")
    text = draft(path, force=True).text
    assert set(places(text)) == {2}


def test_lines_of_an_included_file_are_its_own(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    (tmp_path / "go.cuh").write_text(f"void go(float* d) {{\n{LAUNCH}\n}}\n")
    path.write_text(f'#include "go.cuh"\n{LAUNCHED}')
    assert "// block = [192]  # line 2 of a file that it includes launches it so\n" in (
        draft(path).text
    )
