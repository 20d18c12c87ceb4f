"""Files that are made to take all memory, all time or something else end with 2 and a message."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.captures import copy_capture
from tests.support.few import few

if TYPE_CHECKING:
    from collections.abc import Callable

    Refused = Callable[..., str]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks, and makes pipes and links")

AGAIN = pytest.mark.slow("another file of a gigabyte")
ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "captures"
CHANGES = CAPTURES / "h200_changes" / "tile"
HEADER = b"ID,Kernel Name,gpu__time_duration.sum\n,,ns\n"
LAUNCH = b"k (1, 1, 1)x(1, 1, 1), Context 1, Stream 7\nSection: a\n"
KERNEL = "// /// kernelprof\n{block}\n// ///\n__global__ void k(float *a) {{ a[0] = 1; }}\n"


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """The message of a command that ends with 2, soon, and in a gigabyte."""
    from tests.fuzz.worker import run

    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)

    def refused(*command: str) -> str:
        outcome = run(command, folder)
        assert not outcome.wrong
        assert outcome.code == 2, outcome.stderr
        return outcome.stderr

    return refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir(exist_ok=True)
    return tmp_path / "folder"


def _packed(piece: bytes, total: int, head: bytes = b"") -> bytes:
    """So many bytes in a gzip file: one member of them again and again."""
    whole = piece * ((1 << 24) // len(piece))
    member = gzip.compress(whole, 6, mtime=0)
    return gzip.compress(head, 6, mtime=0) + member * (total // len(whole))


# Exports


@pytest.mark.parametrize(
    ("head", "piece", "said"),
    [
        (b"", b"x", "a line has more than 64 MiB"),
        pytest.param(b"", b"\0", "a line has more than 64 MiB", marks=AGAIN),
        pytest.param(b"", b"a\r", "a line has more than 64 MiB", marks=AGAIN),
        (
            b"\xff\xfe",
            b"a\0",
            "the gzip file unpacks to more than 128 MiB and more than 100 times its size",
        ),
        pytest.param(
            b"x\n",
            b"Section: a b\n",
            "the gzip file unpacks to more than 128 MiB and more than 100 times its size",
            marks=AGAIN,
        ),
        pytest.param(
            b"NVR\0",
            b"\0",
            "the gzip file unpacks to more than 128 MiB and more than 100 times its size",
            marks=AGAIN,
        ),
    ],
    ids=["x", "zeros", "cr", "utf-16", "sections", "report"],
)
def test_a_small_gzip_file_of_a_gigabyte(refused, folder, head, piece, said) -> None:
    name = "x.ncu-rep.gz" if head == b"NVR\0" else "x.csv.gz"
    (folder / name).write_bytes(_packed(piece, 1 << 30, head))
    assert (folder / name).stat().st_size < 4 << 20
    assert said in refused("diagnose", name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"x" * (65 << 20), "a line has more than 64 MiB"),
        (b"Section: a\n" + b"ab\n" * (20 << 20), "this text page has a value"),
        (b'"ID","Kernel Name"' + b',"a"' * 100_000, "more than 65,536 columns"),
        (b'"ID","Kernel Name"' + b',"a"' * (20 << 20), "a line has more than 64 MiB"),
        (b'{"cells": [' + b"[]," * (20 << 20), "this is JSON"),
        (b'{"cells": ' + b"[" * (20 << 20), "this is JSON"),
        (
            b"k (1, 1, 1)x(1, 1, 1), Context 1, Stream 7\nSection: a\n" * 300_000,
            "more than 200,000 launches",
        ),
        (b"Section: x\n" + (b"[1] " + b"@" * 32_000 + b" x\n") * 300, "no metric on this"),
        (
            HEADER.replace(b"Name", b"Name,Grid Size").replace(b"\n,", b"\n,,")
            + b"".join(b"%d,k%d,-,1\n" % (at, at) for at in range(12_000)),
            "more than 7,000 different kernels",
        ),
    ],
    ids=["line", "lines", "columns", "header", "list", "nested", "launches", "signs", "kernels"],
)
@pytest.mark.slow
def test_a_text_that_takes_more_memory_than_it_is_long(refused, folder, text, said) -> None:
    (folder / "x.csv").write_bytes(text)
    assert said in refused("diagnose", "x.csv")


@pytest.mark.slow
def test_more_launches_than_fit_in_memory(refused, folder, monkeypatch) -> None:
    monkeypatch.setattr("kernelprof.sources.ncu.columns.MOST_LAUNCHES", 200_000)
    (folder / "x.csv.gz").write_bytes(_packed(b"0,k,1\n", 1 << 30, HEADER))
    assert "there are more than 200,000 launches" in refused("diagnose", "x.csv.gz")


@pytest.mark.slow
def test_more_values_than_bytes_explain(refused, folder, monkeypatch) -> None:
    """A long export has ten bytes a value: rows of commas alone are none."""
    monkeypatch.setattr("kernelprof.sources.ncu.columns.MOST_VALUES", 1_000_000)
    names = ",".join(f"m__{at}.sum" for at in range(4_000))
    rows = "".join(f"{at},k{',' * 4_000}\n" for at in range(5_000))
    (folder / "x.csv").write_text(f"ID,Kernel Name,{names}\n,{',' * 4_000}\n{rows}")
    assert "more than 2" in refused("baseline", "save", "x.csv", "-o", "b.json")


@pytest.mark.slow
def test_what_is_no_plain_file(refused, folder) -> None:
    (folder / "zero.csv").symlink_to("/dev/zero")
    assert "it is a pipe or a device" in refused("diagnose", "zero.csv")
    os.mkfifo(folder / "pipe.csv")
    assert "it is a pipe without a writer" in refused("diagnose", "pipe.csv")


def test_a_pipe_from_the_shell_is_read(cli_environment) -> None:
    import subprocess
    import sys

    export = CAPTURES / "pycuda_two_kernels.seven-metrics.raw.csv"
    reading = f'{sys.executable} -m kernelprof diagnose <(cat "{export}") --format json'
    done = subprocess.run(
        ["bash", "-c", reading], capture_output=True, env=cli_environment, timeout=60, check=False
    )
    assert done.returncode == 3, done.stderr
    assert len(json.loads(done.stdout)["kernels"]) > 1


# Capture directories


@pytest.fixture
def capture(folder: Path) -> Path:
    return copy_capture(CHANGES / "1", folder / "c")


def _change(capture: Path, change: Callable[[dict], object]) -> None:
    path = capture / "manifest.json"
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("raw.csv.gz", "/dev/zero"),
        ("raw.csv.gz", "/etc/passwd"),
        ("raw.csv.gz", "../elsewhere"),
        ("manifest.json", "/etc/passwd"),
        ("manifest.json", "../elsewhere"),
    ],
)
def test_a_link_that_leaves_a_capture(refused, capture, folder, name, target) -> None:
    shutil.copy(capture / name, folder / "elsewhere")
    (capture / name).unlink()
    (capture / name).symlink_to(target)
    assert "it is a link to a path outside the folder" in refused("diagnose", "c")


@pytest.mark.parametrize("make", ["kept", "link", "pipe", "absent"])
def test_a_source_is_shown_only_from_the_capture(capture, folder, make) -> None:
    from kernelprof.sources.capture_directory import read_contents

    _change(capture, lambda values: values["source"].update(path="nowhere.cu"))
    kept = (capture / "source.cu").read_bytes()
    if make != "kept":
        (capture / "source.cu").unlink()
    (folder / "elsewhere.cu").write_bytes(kept)
    if make == "link":
        (capture / "source.cu").symlink_to("../elsewhere.cu")
    elif make == "pipe":
        os.mkfifo(capture / "source.cu")
    assert read_contents(str(capture)).source_text == (kept.decode() if make == "kept" else None)


@pytest.mark.parametrize("path", ["pipe", "/dev/zero", "a\0b", "x" * 5_000])
def test_a_manifest_may_name_any_source(capture, folder, path, monkeypatch) -> None:
    """It is shown only if its hash is that of the manifest, and it is no endless file."""
    from kernelprof.sources.capture_directory import read_contents

    monkeypatch.chdir(folder)
    os.mkfifo("pipe")
    (capture / "source.cu").unlink()
    _change(capture, lambda values: values["source"].update(path=path))
    assert read_contents(str(capture)).source_text is None


def test_a_manifest_may_not_list_one_run_a_thousand_times(refused, capture) -> None:
    _change(capture, lambda values: values.update(runs=values["runs"] * 1_000))
    assert "its manifest lists more than 100 runs" in refused("diagnose", "c")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (_packed(b"f,k,1,1\n", 1 << 30, b"file,function,line,samples\n"), "more than 32 MiB"),
        pytest.param(
            gzip.compress(b"file,function,line,samples\n" + b"f,k,1,1\n" * 200_001),
            "200,000 lines",
            marks=pytest.mark.slow("reads as many"),
        ),
        (gzip.compress(b"file,function,line,samples\nf,k,1," + b"9" * 4_000), "is not a count"),
        (gzip.compress(b"file,function,line,samples\nf,k,1,1\n")[:-9], "cut off"),
    ],
    ids=["size", "lines", "number", "cut"],
)
def test_samples_by_line_have_their_limits(refused, folder, data, said) -> None:
    capture = Path(
        shutil.copytree(ROOT / "src/kernelprof/recorded/h200/03_shared_tile", folder / "c")
    )
    (capture / "lines.csv.gz").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    _change(capture, lambda values: values["runs"][0].update(lines_sha256=digest))
    assert said in refused("diagnose", "c")


# Policies, baselines, results and specifications


@pytest.mark.parametrize(
    "kind", few(["zero", "pipe", "folder", "long"], "zero", "long", why="four more commands")
)
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("p.toml", ("gate", str(CHANGES / "1"), str(CHANGES / "2"), "--policy", "p.toml")),
        ("b.json", ("gate", "b.json", str(CHANGES / "2"))),
        ("b.json", ("baseline", "show", "b.json")),
        ("l.json", ("ladder", "report", "l.json")),
    ],
    ids=["policy", "side", "baseline", "ladder"],
)
def test_a_file_that_is_none(refused, folder, name, command, kind) -> None:
    place = folder / name
    if kind == "zero":
        place.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        with place.open("wb") as file:
            file.truncate(1 << 40)
    reasons = {"zero": "a device", "pipe": "a pipe", "folder": "directory|folder", "long": "MiB"}
    assert re.search(reasons[kind], refused(*command))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("long", "larger than 1 MiB"),
        ("zero", "no launch specification, and its source does not determine"),
        ("pipe", "no launch specification, and its source does not determine"),
    ],
)
def test_a_specification_beside_a_source_that_is_none(refused, folder, kind, said) -> None:
    (folder / "k.cu").write_text("__global__ void k(Node *a) { a[0] = 1; }\n")
    place = folder / "k.toml"
    if kind == "zero":
        place.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.write_text("# a comment\n" * 100_000)
    assert said in refused("diagnose", "k.cu")


@pytest.mark.parametrize(
    "line",
    [
        "a." * 200_000 + "b = 1",
        "max_slowdown = " + "[" * 125_000,
        "x = " + "{a = " * 20_000,
        "max_slowdown = " + "9" * 5_000,
        "max_slowdown = " + "9" * 4_000,
        "flops = " + "9" * 25,
    ],
    ids=["dotted", "nested", "inline", "5000 digits", "4000 digits", "25 digits"],
)
def test_toml_that_takes_forever_or_is_too_deep(refused, folder, line) -> None:
    (folder / "p.toml").write_text(f"\n{line}\n")
    said = refused("gate", str(CHANGES / "1"), str(CHANGES / "2"), "--policy", "p.toml")
    assert "the policy is not TOML" in said
    assert "p.toml" in said
    (folder / "k.cu").write_text(KERNEL.format(block=f"// {line}"))
    said = refused("diagnose", "k.cu")
    assert "the specification is not valid TOML" in said
    assert "k.cu:2" in said


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a": ' * 900 + "1" + "}" * 900,
        '{"kernels": ' + "9" * 5_000 + "}",
        '{"kernels": ' + "9" * 4_000 + "}",
        '{"kernels": [' + "[]," * 5_000_000 + "[]]}",
    ],
    ids=["nested", "tables", "5000 digits", "4000 digits", "values"],
)
def test_json_that_is_too_deep_or_too_much(refused, folder, text) -> None:
    (folder / "d.json").write_text(text)
    assert "the file cannot be compared" in refused("compare", "d.json", str(CHANGES / "2"))


# Folders


def test_a_folder_that_nobody_may_read(tmp_path, kernelprof, monkeypatch, captures) -> None:
    """Tests may run as root, who may read everything; so the system's answer is made here."""
    closed = tmp_path / "closed"
    inner = tmp_path / "open" / "inner"
    for each in (closed, inner):
        each.mkdir(parents=True)
    shutil.copy(captures / "gemm_series.full.raw.csv", tmp_path / "open" / "x.csv")
    real = os.scandir

    def scandir(path=".") -> object:
        if Path(path) in {closed, inner}:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "listdir", lambda path=".": [each.name for each in scandir(path)])
    for command in (["diagnose"], ["report", "-o", str(tmp_path / "out.html")]):
        kernelprof(
            *command,
            closed,
            code=2,
            err=["the folder cannot be read: Permission denied", str(closed)],
        )
    kernelprof(
        f"compare {closed} {captures}/gemm_series.full.raw.csv", code=2, err="Permission denied"
    )
    printed = kernelprof(f"diagnose {tmp_path}/open")
    out, err = printed.out, printed.err
    assert "1 file left out (not readable as captures): inner" in out + err
    assert "Permission denied" in out + err


def test_a_folder_in_which_nothing_may_be_looked_at(tmp_path, kernelprof, monkeypatch) -> None:
    real = os.stat

    def stat(path, **options) -> os.stat_result:
        if str(path).startswith(str(tmp_path) + "/"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, **options)

    (tmp_path / "x.csv").write_text("x")
    monkeypatch.setattr(os, "stat", stat)
    kernelprof(f"diagnose {tmp_path}", code=2)
    kernelprof(f"history {tmp_path} --no-cache", code=2)
