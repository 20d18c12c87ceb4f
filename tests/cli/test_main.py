"""Exit codes and messages: the contract of the command line with scripts."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.processes import started

from kernelprof import __version__
from kernelprof.cli.main import INTERNAL_ERROR, INTERRUPTED, PIPE_CLOSED, main
from kernelprof.errors import InputError

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and pipes")
AGAIN = pytest.mark.slow("starts one more process")

DIAGNOSE = [sys.executable, "-m", "kernelprof", "diagnose", "-", "--format", "json"]


def _raise(error: BaseException):
    def raises(*_arguments: object, **_options: object) -> None:
        raise error

    return raises


@pytest.fixture
def failing(monkeypatch):
    """Make reading a capture fail with an exception."""

    def fail(error: BaseException) -> None:
        monkeypatch.setattr("kernelprof.sources.read_capture", _raise(error))

    return fail


MESSAGES = [
    (
        InputError("this is HTML", where="page.csv", hint="export it as CSV"),
        "this is HTML\n  where: page.csv\n  next: export it as CSV\n",
    ),
    # They cannot steer the terminal, and lines of others are kept behind a bar.
    (InputError("found \x1b[2J", where="a\nb"), "found \\x1b[2J\n  where: a b\n"),
    (
        InputError("it does not compile:\nk.cu(3): error\n\n  ::warning::no \x1b[2J\n"),
        "it does not compile:\n  | k.cu(3): error\n  |   ::warning::no \\x1b[2J\n",
    ),
    (InputError("\n"), "\n"),
]


@pytest.mark.parametrize(("error", "message"), MESSAGES)
def test_an_error_says_what_where_and_what_next(failing, kernelprof, error, message) -> None:
    failing(error)
    assert kernelprof("diagnose x.csv", code=2, out="").err == f"kernelprof: error: {message}"


def test_a_mistake_of_ours_is_no_verdict(failing, kernelprof) -> None:
    failing(ZeroDivisionError("division by zero"))
    err = kernelprof("diagnose x.csv", code=INTERNAL_ERROR).err
    assert err.startswith("kernelprof: error: internal error: ZeroDivisionError: division by zero")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_debug_adds_the_traceback_wherever_it_stands(failing, capsys, place: int) -> None:
    failing(InputError("this is HTML"))
    arguments = ["diagnose", "page.csv"]
    arguments.insert(place, "--debug")
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert err.endswith("kernelprof: error: this is HTML\n")


def test_the_version_and_a_program_s_own_debug(kernelprof) -> None:
    assert kernelprof("--version").out == f"kernelprof {__version__}\n"
    assert kernelprof("command --preset dram -- ./app --debug").out.endswith(" ./app --debug\n")


def test_an_interrupt_writes_nothing(failing, tmp_path, kernelprof) -> None:
    failing(KeyboardInterrupt())
    kernelprof(f"diagnose x.csv -o {tmp_path}/out.txt", code=INTERRUPTED)
    assert list(tmp_path.iterdir()) == []


@posix
def test_control_c_while_reading(cli_environment, tmp_path) -> None:
    out = tmp_path / "out.json"
    with started(
        [*DIAGNOSE, "-o", str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli_environment,
    ) as process:
        _wait_until_blocked(process.pid)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert stdout == stderr == b""
    assert not out.exists()


@posix
def test_control_c_is_ignored_where_it_was_ignored_before(cli_environment, captures) -> None:
    """As in a background job of a script, which Ctrl-C at the script is not for."""
    capture = (captures / "pycuda_two_kernels.seven-metrics.raw.csv").read_bytes()
    with started(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *DIAGNOSE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=cli_environment,
    ) as process:
        _wait_until_blocked(process.pid)
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(capture, timeout=60)
    assert process.returncode == 3
    assert stdout.startswith(b"{")


def _wait_until_blocked(pid: int) -> None:
    """Until the process waits for its standard input, or for long enough where that is unknown."""
    channel = Path(f"/proc/{pid}/wchan")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if channel.exists() and "pipe" in channel.read_text():
            return
    time.sleep(0.1)


@posix
@pytest.mark.parametrize(
    "arguments",
    [
        ["explain"],
        pytest.param(["schema"], marks=AGAIN),
        pytest.param(["presets", "full"], marks=AGAIN),
        ["--help"],
    ],
)
def test_a_closed_pipe_is_quiet_and_no_regression(cli_environment, arguments) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kernelprof", *arguments],
            stdout=write_end,
            stderr=subprocess.PIPE,
            env=cli_environment,
            timeout=60,
            check=False,
        )
    finally:
        os.close(write_end)
    assert done.returncode == PIPE_CLOSED
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("to_file", [False, pytest.param(True, marks=AGAIN)])
def test_a_full_disk_is_said_once(cli_environment, captures, to_file: bool) -> None:
    capture = str(captures / "gemm_series.full.raw.csv")
    arguments = ["diagnose", capture, *(["-o", "/dev/full"] if to_file else [])]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kernelprof", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env=cli_environment,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr == (
        "kernelprof: error: cannot write the result: No space left on device\n"
        f"  where: {'/dev/full' if to_file else 'standard output'}\n"
        "  next: free some space, or write elsewhere with -o FILE\n"
    )


def test_a_full_disk_leaves_the_old_file_alone(tmp_path, monkeypatch) -> None:
    from kernelprof.cli.output import WriteError, write_file

    path = tmp_path / "out.txt"
    path.write_text("before")

    def write_half(self: Path, data: bytes) -> None:
        with self.open("wb") as file:
            file.write(data[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(WriteError, match="No space left on device"):
        write_file("afterwards", path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_surrogate_pair_does_not_end_a_file(tmp_path) -> None:
    """JSON can spell one, and a file name can hold one."""
    from kernelprof.cli.output import write_file

    path = tmp_path / "out.txt"
    write_file("a\ud800b µ", path)
    assert path.read_text(encoding="utf-8") == "a?b µ"


def test_a_file_in_a_folder_that_is_not_there(tmp_path) -> None:
    from kernelprof.cli.output import write_file

    with pytest.raises(InputError, match="No such file or directory") as caught:
        write_file("text", tmp_path / "no" / "out.txt")
    assert caught.value.where == str(tmp_path / "no" / "out.txt")


@posix
def test_an_existing_file_keeps_its_mode_and_a_link_its_target(tmp_path) -> None:
    from kernelprof.cli.output import write_file

    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("before")
    target.chmod(0o640)
    link.symlink_to(target)
    write_file("after µ", link)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "after µ"
    assert target.stat().st_mode & 0o777 == 0o640


@posix
@pytest.mark.parametrize(
    ("closed", "arguments", "code"),
    [
        pytest.param(">&-", "explain", 4, marks=AGAIN),
        (">&-", "--version", 4),
        pytest.param(">&-", "diagnose no.csv", 2, marks=AGAIN),
        pytest.param("2>&-", "explain", 0, marks=AGAIN),
        ("2>&-", "diagnose no.csv", 2),
        (">&- 2>&- <&-", "diagnose no.csv", 2),
        pytest.param(">&- 2>&- <&-", "explain", 4, marks=AGAIN),
    ],
)
def test_closed_streams(cli_environment, tmp_path, closed, arguments, code) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m kernelprof {arguments} {closed}"],
        capture_output=True,
        env=cli_environment,
        cwd=tmp_path,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr
    if code == 4 and "2>" not in closed:
        assert "cannot write the result: standard output is closed" in done.stderr
