"""Whatever is no export of launches gives one message that says what it is and what to do."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import Any

import pytest

from kernelprof.errors import ExitCode, InputError
from kernelprof.sources import read_bytes, read_capture

CAPTURES = Path(__file__).parents[1] / "captures"
DEGRADED = CAPTURES / "degraded"
HEADER = b'"ID","Kernel Name","sm__throughput.avg.pct_of_peak_sustained_elapsed"\n'


def _refused(data: bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        read_bytes(data, "given")
    error = caught.value
    assert error.exit_code is ExitCode.BAD_INPUT
    assert error.where == "given"
    assert (
        "; expected the raw page as CSV, the details page as CSV, the text page, a .ncu-rep report"
        in error.what
    )
    assert error.hint is not None
    assert "ncu --set full --csv --page raw --print-units base --log-file" in error.hint
    assert "ncu --import report.ncu-rep --csv --page raw > capture.csv" in error.hint
    assert "\n" not in error.what
    return error


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "empty"),
        (b" \n\r\n", "empty"),
        (b"\x00\x01\x02\x03" * 50, "binary"),
        (b"\x7fELF\x02\x01\x01", "a program or library"),
        (b"SQLite format 3\x00" + bytes(90), "Nsight Systems"),
        (b"PK\x03\x04" + bytes(90), "zip"),
        (b"\x28\xb5\x2f\xfd" + bytes(90), "zstd"),
        (b"<!DOCTYPE html>\n<html><body>Not found</body></html>", "HTML"),
        (b"\n  <html>", "HTML"),
        (b'<?xml version="1.0"?><a/>', "XML"),
        (b'{"schema_version": "1", "kernels": []}', "JSON"),
        (b"name,age\nada,36\n", 'it begins with "name", "age"'),
        (b"name;age;town\nada;36;x\n", '"name", "age", "town"'),
        (b'"Time (%)","Total Time (ns)","Instances","Name"\n"9","1","1","k"\n', "Systems"),
        (b'"Type","Time(%)","Time","Calls"\n,%,ms,\n"GPU","9","1","1"\n', "nvprof"),
        (b'"Process ID","Kernel Name","Invocations","Section Name","Average"\n', "--print-summary"),
        (b'"#","Address","Source","Samples"\n"0","0x0","MOV","1"\n', "page has an old format"),
        (b"Hello, this is a log\nof a program\n", "it begins with"),
        (
            b"==PROF== Connected to process 664418 (./a.out)\n"
            b"==WARNING== No kernels were profiled.\n"
            b"Available Kernels:\n1. wmma_cxx_kernel\n2. stub\n",
            "no kernel was profiled; the program launched wmma_cxx_kernel, stub",
        ),
        (
            (DEGRADED / "degraded_nosuchmetric.txt").read_bytes(),
            "no metric on this text page has a value; these metrics came back as (!) n/a: "
            "nosuch__metric.sum",
        ),
        (HEADER, "no launch under it"),
        (HEADER + b'"","","%"\n', "no launch under it"),
        (HEADER + b'"","","%"\n"0","k","97.', "no complete row"),
        (HEADER[:-10], "no launch under it"),
        (b'"ID","Kernel Name"\n"",""\n"0","k"\n', "no column of the table is a metric"),
        (b'"#","Address","Source","Data (All)"\n"0","0x10","MOV R1, c[0x0]","7"\n', "old format"),
        (
            b'"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value",'
            b'"Rule Name"\n"0","k","SpeedOfLight","","","","SOLBottleneck"\n',
            "no row with a metric",
        ),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"\x1f\x8b\x08\x00garbage garbage", "damaged"),
        (b"\x1f\x8b", "empty"),
    ],
)  # fmt: skip
def test_what_it_is_instead(data: bytes, found: str) -> None:
    assert found in _refused(data).what


def test_no_kernel() -> None:
    error = _refused((DEGRADED / "degraded_nokernel.txt").read_bytes())
    assert "ran but profiled no kernel" in error.what
    assert "The application returned an error code (1)." in error.what
    assert error.hint is not None
    assert "--kernel-name" in error.hint


def test_counters_that_only_administrators_may_read() -> None:
    error = _refused(
        b"==PROF== Connected to process 17664 (/usr/bin/python3.12)\n==ERROR== ERR_NVGPUCTRPERM - "
        b"The user does not have permission to access NVIDIA GPU Performance Counters.\n"
    )
    assert "nothing was profiled" in error.what
    assert error.hint is not None
    assert "administrators" in error.hint


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_capture(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="a directory"):
        read_capture(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        read_capture("a\0b.csv")
    with pytest.raises(InputError, match="is empty"):
        read_capture("-", stdin=io.BytesIO(b""))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "secret.csv"
    path.write_bytes(HEADER)
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read_capture(path)


def test_a_row_cut_in_the_middle(eight_bytes: bytes, same: Any) -> None:
    whole = eight_bytes.rstrip(b"\n").rsplit(b"\n", 1)[0] + b"\n"
    capture = read_bytes(eight_bytes[:-400], "cut")
    assert len(capture) == 25
    assert capture.warnings == ("The input ends in the middle of a row, which was left out.",)
    same(capture, read_bytes(whole, "whole"))


def test_a_row_broken_between_others(eight_bytes: bytes) -> None:
    lines = eight_bytes.split(b"\n")
    lines[10] = lines[10][:700]
    capture = read_bytes(b"\n".join(lines), "broken")
    assert len(capture) == 25
    assert capture.warnings == ("One row was incomplete and was ignored.",)


def test_an_unquoted_last_cell_without_line_end_may_be_cut() -> None:
    text = b"ID,Kernel Name,sm__n.sum\n,,inst\n0,k,1024\n1,k,10"
    capture = read_bytes(text, "cut")
    assert len(capture) == 2
    assert str(capture.columns["sm__n.sum"].values.tolist()) == "[1024.0, nan]"
    assert "no newline" in capture.warnings[0]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("filter-matches-nothing.txt", "profiled; the program launched rounds, scale"),
        (
            "import-cut.txt",
            'printed no launches (Nsight Compute reported: "Failed to load report file',
        ),
        ("interrupted.txt", 'profiled no kernel (Nsight Compute reported: "Failed to profile'),
        ("no-cuda-program.txt", "no kernel was profiled"),
        ("program-fails.txt", "The application returned an error code (7)."),
        (
            "program-fails-late-report.txt",
            "wrote the launches to /tmp/w/late.ncu-rep, not to this file",
        ),
        (
            "unknown-set.txt",
            'no metric on this text page has a value (Nsight Compute reported: "No metrics to',
        ),
        ("unknown-section.txt", "did not match any section"),
        ("unknown-option.txt", "unrecognised option"),
    ],
)
def test_what_ncu_said_instead(name: str, found: str) -> None:
    assert found in _refused((CAPTURES / "ncu_behaviour" / name).read_bytes()).what


@pytest.mark.exhaustive("writes hundreds of megabytes")
@pytest.mark.parametrize(
    "line", [b"\n", pytest.param(b'"1",\n', marks=pytest.mark.slow("looks at each line"))]
)
def test_lines_without_end_are_refused(eight_bytes: bytes, line: bytes) -> None:
    """Each takes up to 8 us, and a megabyte of gzip has a hundred million."""
    many = gzip.compress(eight_bytes + line * 2_100_000, compresslevel=1)
    with pytest.raises(InputError, match=r"^more than 2,000,000 lines are not rows of a table;"):
        read_bytes(many, "many")
