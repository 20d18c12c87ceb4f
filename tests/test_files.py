"""What is read of somebody else: plain files of bounded size, and never without end."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from kernelprof import files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs pipes, devices and links")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain"
    path.write_bytes(b"0123456789")
    return path


def _why(path: Path, most: int = 100, inside: Path | None = None) -> str:
    with pytest.raises(OSError) as caught:  # noqa: PT011 (the reason is what is looked at)
        files.read_bytes(path, most, inside=inside)
    return str(caught.value.strerror)


def test_a_plain_file_up_to_its_limit(plain: Path) -> None:
    assert files.read_bytes(plain, 10) == b"0123456789"
    assert files.read_text(plain, 10) == "0123456789"
    assert _why(plain, 9) == "it is larger than 9 bytes"
    assert files.size_in_words(64 << 20) == "64 MiB"


def test_what_has_no_end_or_no_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    # The name of a socket is 107 bytes at most, and that of a folder for tests is longer.
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name in ("pipe", "zero", "socket"):
            assert _why(tmp_path / name) == "it is a pipe or a device, not a file"
    assert _why(tmp_path) == "Is a directory"
    assert _why(tmp_path / "absent") == "No such file or directory"
    assert _why(Path("a\0b")) == "this is not a valid file name"


def test_a_file_that_becomes_a_pipe_while_it_is_opened(tmp_path: Path, monkeypatch) -> None:
    """It is looked at before and after it is opened, and opening waits for no writer."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    plain = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda _, **__: plain)
    assert _why(pipe) == "it is a pipe or a device, not a file"


def test_links_that_leave_a_folder(plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    folder.mkdir()
    (folder / "own").write_bytes(b"own")
    for name, target in (("in", "own"), ("out", plain), ("dots", "../plain"), ("self", "self")):
        (folder / name).symlink_to(target)
    assert files.read_bytes(folder / "in", 9, inside=folder) == b"own"
    leads_out = "it is a link to a path outside the folder"
    assert _why(folder / "out", inside=folder) == _why(folder / "dots", inside=folder) == leads_out
    assert "link" in _why(folder / "self", inside=folder) or "symbolic" in _why(folder / "self")
    # The folder itself may be named by a link.
    (tmp_path / "named").symlink_to(folder)
    assert files.read_bytes(tmp_path / "named" / "own", 9, inside=tmp_path / "named") == b"own"


def test_a_hash_of_a_device_is_refused(plain: Path) -> None:
    assert files.sha256(plain).startswith("84d89877f0d4041efb6bf91a16f0248f2fd573e6")
    with pytest.raises(OSError, match="a device"):
        files.sha256(Path("/dev/zero"))


def test_what_we_were_given_may_be_a_pipe_if_it_was_typed() -> None:
    """As by ``--policy <(command)``; also this has its limit. A manifest may name any path."""
    for size in (5, 5_000):
        read_end, write_end = os.pipe()
        os.write(write_end, b"x" * size)
        os.close(write_end)
        given = Path(f"/dev/fd/{read_end}")
        assert _why(given, 5) == "it is a pipe or a device, not a file"
        if size == 5:
            assert files.read_bytes(given, 5, typed=True) == b"xxxxx"
        else:
            with pytest.raises(OSError, match="larger than 5 bytes"):
                files.read_bytes(given, 5, typed=True)
        os.close(read_end)


def test_what_the_shell_gives_is_not_waited_for() -> None:
    """A command that wrote nothing has ended: the capture is empty."""
    read_end, write_end = os.pipe()
    os.close(write_end)
    begun = time.monotonic()
    with files.stream(Path(f"/dev/fd/{read_end}")) as (read, _):
        assert read(10) == b""
    os.close(read_end)
    assert time.monotonic() - begun < 2


def test_a_capture_may_come_through_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        time.sleep(0.3)  # who starts both may start us first
        with pipe.open("wb") as writer:
            writer.write(b"first ")
            writer.flush()
            time.sleep(0.3)
            writer.write(b"second")

    writer = threading.Thread(target=write)
    writer.start()
    with files.stream(pipe) as (read, is_file):
        assert not is_file
        assert read(100) == b"first second"
    writer.join()


def test_a_named_pipe_without_a_writer_is_not_waited_for(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(files, "WRITER_WAIT_S", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="a pipe without a writer"), files.stream(tmp_path / "pipe"):
        pass
    with pytest.raises(OSError, match="a device"), files.stream(Path("/dev/zero")):
        pass
