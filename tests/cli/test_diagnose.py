"""``kernelprof diagnose`` from files to output."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from tests.support.processes import read_terminal, started

from kernelprof.report.writers.json import schema

AGAIN = pytest.mark.slow("starts one more process")


@pytest.fixture
def full(captures) -> str:
    return str(captures / "gemm_series.full.raw.csv")


def test_a_stored_capture_to_named_bottlenecks(full, kernelprof) -> None:
    found = kernelprof.json(f"diagnose {full}")
    jsonschema.Draft202012Validator(json.loads(schema())).validate(found)
    verdicts = {kernel["ids"][0]: kernel["verdict"] for kernel in found["kernels"]}
    assert len(verdicts) == 26
    assert verdicts["0"]["bottleneck"] == "uncoalesced-global-access"
    assert (verdicts["15"]["status"], verdicts["15"]["bottleneck"]) == (
        "at-limit",
        "fp32-throughput",
    )


def test_the_same_in_text_and_markdown(full, kernelprof) -> None:
    short = kernelprof(
        f"diagnose {full}",
        out=[
            "1 gemm_bad 32x32, 35.31 ms, 29 % of the time ───",
            "Limited by uncoalesced-global-access. Confidence: high.\n",
        ],
    ).out
    assert "Why   " not in short
    assert len(short[short.index("1 gemm_bad") :].splitlines()) <= 48
    text = kernelprof(
        f"diagnose {full} --explain",
        out=[
            "\nWhy          Threads of a warp access scattered global",
            "Limited by uncoalesced-global-access. Confidence: ",
        ],
    ).out
    assert re.search(
        r"^ 1 gemm_bad 32x32 +1 35.31 ms +29 % uncoalesced-global-access ", text, re.MULTILINE
    )
    kernelprof(
        f"diagnose {full} --format markdown",
        out="**`gemm_bad 32x32`: Limited by uncoalesced-global-access.**",
    )


def test_standard_input(full, kernelprof, monkeypatch) -> None:
    data = Path(full).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert kernelprof("diagnose - --top 0").out.startswith("<stdin>\n26 kernels in 26 launches")


@pytest.mark.usefixtures("judged")
def test_inconclusive_is_exit_code_three_with_a_command(samples, kernelprof) -> None:
    kernelprof("diagnose x --top 3", code=3, out=f"\n{samples.command}\n")


@pytest.mark.usefixtures("judged")
def test_several_captures_are_one_document(kernelprof) -> None:
    found = kernelprof.json("diagnose x y", code=3)
    assert len(found["captures"]) == 2
    assert len(found["kernels"]) == 8


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize("written", ["", "regex:"], ids=["alone", "as for ncu"])
def test_a_kernel_filter(kernelprof, written) -> None:
    out = kernelprof(
        f"diagnose x --kernel '{written}^gemm_.*float' --top 9", out="2 kernels in 2 launches"
    ).out
    assert "bank_conflict" not in out


@pytest.mark.usefixtures("judged")
def test_into_a_file(tmp_path, kernelprof) -> None:
    path = tmp_path / "report.txt"
    err = kernelprof(f"diagnose x -o {path}", code=3, out="").err
    assert path.read_text(encoding="utf-8").startswith(
        "gemm_series.full.raw.csv\n4 kernels in 20,003 launches"
    )
    assert err == (
        "kernelprof: warning: gemm_series.full.raw.csv: "
        "The last row is cut off in the middle and was left out.\n"
    )


@pytest.mark.usefixtures("judged")
def test_warnings_are_on_stderr_where_a_program_reads_the_output(kernelprof) -> None:
    warning = "warning: gemm_series.full.raw.csv: The last row"
    kernelprof("diagnose x --format json", code=3, err=warning)
    kernelprof("diagnose x", code=3, out="warning: The last row", err="")


@pytest.mark.usefixtures("no_ncu")
@pytest.mark.parametrize("options", ["", "--preset dram ", "--kernel '^gemm_(a|b)' "])
def test_a_program_without_ncu_gets_the_command(kernelprof, options) -> None:
    program = "./app --size '4 K'"
    lacking = "ncu (Nsight Compute) is not installed here"
    err = kernelprof(f"diagnose {options}-- {program}", code=4, out="", err=lacking).err
    profile = f"kernelprof profile {options}-o capture -- {program}"
    assert err.endswith(f"\n{profile}\nkernelprof diagnose capture\n")


def test_a_preset_is_what_the_printed_command_collects(captures, kernelprof) -> None:
    capture = str(captures / "pycuda_two_kernels.seven-metrics.raw.csv")
    found = kernelprof.json(f"diagnose {capture} --preset full", code=3)
    assert found["captures"][0]["preset"] == "full"
    for kernel in found["kernels"]:
        words = shlex.split(kernel["verdict"]["command"])
        assert words[:4] == ["kernelprof", "profile", "--preset", "full"]
        assert "--" in words


def test_a_pipe_gets_eighty_columns_and_no_colour(run_process, full) -> None:
    done = run_process("diagnose", full, "--top", "1", FORCE_COLOR="1")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) == 80
    narrow = run_process("diagnose", full, "--top", "1", COLUMNS="60").stdout
    assert max(map(len, narrow.splitlines())) == 60


def test_a_pipe_that_knows_ascii_only(run_process, full) -> None:
    done = run_process("diagnose", full, "--top", "0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "54.4 us" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("options", "environment", "colored"),
    [
        ([], {}, True),
        (["--no-color"], {}, False),
        pytest.param([], {"NO_COLOR": "1"}, False, marks=AGAIN),
        pytest.param([], {"TERM": "dumb"}, False, marks=AGAIN),
    ],
)
def test_colour_on_a_terminal(cli_environment, full, options, environment, colored: bool) -> None:
    import pty

    main_end, terminal = pty.openpty()
    with started(
        [sys.executable, "-m", "kernelprof", "diagnose", full, "--top", "0", *options],
        stdout=terminal,
        stdin=subprocess.DEVNULL,
        env={**cli_environment, "TERM": "xterm-256color", **environment},
    ) as process:
        os.close(terminal)
        shown = read_terminal(main_end)
    assert process.returncode == 0
    assert b"uncoalesced-global-access" in shown
    assert (b"\x1b[" in shown) is colored


def test_from_another_folder(run_cli, full, tmp_path) -> None:
    done = run_cli("diagnose", full, "--top", "0", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_captures_of_the_same_launches_are_merged(captures, kernelprof) -> None:
    thin = str(captures / "gemm_series.eight-metrics.raw.csv")
    full = str(captures / "gemm_series.full.raw.csv")
    found = kernelprof.json(f"diagnose {thin} {full} --merge", code={0, 3})
    assert [capture["origin"] for capture in found["captures"]] == [f"{thin} + {full}"]


def test_captures_of_other_launches_cannot_be_merged(captures, kernelprof) -> None:
    other = str(captures / "pycuda_two_kernels.seven-metrics.raw.csv")
    full = str(captures / "gemm_series.full.raw.csv")
    kernelprof(f"diagnose {other} {full} --merge", code=2, err="none of the launches")
