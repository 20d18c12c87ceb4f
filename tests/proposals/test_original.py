"""The files of a kernel are kept as they were, whatever becomes of those on the disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernelprof.errors import InputError
from kernelprof.launch.specification.reader import load_spec
from kernelprof.proposals import read_original, read_proposal

ROOT = Path(__file__).parents[2]
SOURCE = (ROOT / "examples" / "matvec.cu").read_text("utf-8")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A kernel with an include, one of another folder, and a reference in Python."""
    home = tmp_path / "home" / "kernels"
    home.mkdir(parents=True)
    text = SOURCE.replace('"gemv"', '"ours:f"')
    (home / "k.cu").write_text(f'{text}\n#include "near.cuh"\n#include "../far.cuh"\n', "utf-8")
    (home / "near.cuh").write_text("// near\n", encoding="utf-8")
    (home.parent / "far.cuh").write_text("// far\n", encoding="utf-8")
    (home / "ours.py").write_text("from helper import f\n", encoding="utf-8")
    (home / "helper.py").write_text("def f(A, x): return A @ x\n", encoding="utf-8")
    (home / "other.txt").write_text("not needed\n", encoding="utf-8")
    return home / "k.cu"


def test_all_that_a_launch_reads_is_written_again(kernel: Path, tmp_path: Path) -> None:
    original = read_original(kernel)
    named = {"kernels/near.cuh", "far.cuh", "kernels/ours.py", "kernels/helper.py"}
    assert set(original.files) == named
    place = original.write(tmp_path / "again", "other text")
    assert place == tmp_path / "again" / "kernels" / "k.cu"
    assert place.read_text("utf-8") == "other text"
    assert (tmp_path / "again" / "far.cuh").read_text("utf-8") == "// far\n"
    assert load_spec(original.write(tmp_path / "third", original.text)).reference == "ours:f"


def test_a_change_of_any_of_them_is_seen(kernel: Path) -> None:
    original = read_original(kernel)
    assert original.changed_files() == ()
    helper = kernel.parent / "helper.py"
    helper.write_text("def f(A, x): return 0\n", encoding="utf-8")
    assert original.changed_files() == ("kernels/helper.py",)
    helper.unlink()
    kernel.write_text("", encoding="utf-8")
    assert original.changed_files() == ("kernels/k.cu", "kernels/helper.py")
    assert original.files["kernels/helper.py"].startswith(b"def f")


def test_a_proposal_is_a_plain_file_with_text(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    place = folder / "k.cu"
    for what in ("nothing", "folder", "link", "pipe", "bytes"):
        if what == "folder":
            place.mkdir()
        elif what == "link":
            place.symlink_to("/etc/passwd")
        elif what == "pipe":
            os.mkfifo(place)
        elif what == "bytes":
            place.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError):
            read_proposal(place, folder)
        if what == "folder":
            place.rmdir()
        elif what != "nothing":
            place.unlink()
    place.write_text("text", encoding="utf-8")
    assert read_proposal(place, folder) == "text"
