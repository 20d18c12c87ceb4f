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

from kernelprof.analysis.ncu_command import ncu_command
from kernelprof.cli.main import main
from kernelprof.model.capture import Capture
from kernelprof.report.writers.json import schema

AGAIN = pytest.mark.slow("starts one more process")


@pytest.fixture
def full(captures) -> str:
    return str(captures / "gemm_series.full.raw.csv")


@pytest.fixture
def judged(monkeypatch, samples):
    """Replace reading and judging, so that only what the command does with the result counts."""

    def judge(capture, *, preset=None, progress=None):
        assert preset is progress is None
        return stored[capture.origin]

    def read(target, *, only=None, progress=None):
        assert only is not None
        assert progress is None
        return Capture((), {}, origin=target)

    stored = {"x": samples.diagnosis(), "y": samples.diagnosis()}
    monkeypatch.setattr("kernelprof.sources.read_capture", read)
    monkeypatch.setattr("kernelprof.analysis.verdict.diagnose", judge)


def test_a_stored_capture_to_named_bottlenecks(full, capsys) -> None:
    assert main(["diagnose", full, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(json.loads(schema())).validate(found)
    verdicts = {kernel["ids"][0]: kernel["verdict"] for kernel in found["kernels"]}
    assert len(verdicts) == 26
    assert verdicts["0"]["bottleneck"] == "uncoalesced-global-access"
    assert (verdicts["15"]["status"], verdicts["15"]["bottleneck"]) == (
        "at-limit",
        "fp32-throughput",
    )


def test_the_same_in_text_and_markdown(full, capsys) -> None:
    assert main(["diagnose", full]) == 0
    short = capsys.readouterr().out
    assert "1 gemm_bad 32x32, 35.31 ms, 29 % of the time ───" in short
    assert "Limited by uncoalesced-global-access. Confidence: high.\n" in short
    assert "Why   " not in short
    assert len(short[short.index("1 gemm_bad") :].splitlines()) <= 48
    assert main(["diagnose", full, "--explain"]) == 0
    text = capsys.readouterr().out
    assert "\nWhy          Global loads or stores whose threads" in text
    assert re.search(
        r"^ 1 gemm_bad 32x32 +1 35.31 ms +29 % uncoalesced-global-access ", text, re.MULTILINE
    )
    assert "Limited by uncoalesced-global-access. Confidence: " in text
    assert main(["diagnose", full, "--format", "markdown"]) == 0
    markdown = capsys.readouterr().out
    assert "**`gemm_bad 32x32`: Limited by uncoalesced-global-access.**" in markdown


def test_standard_input(full, capsys, monkeypatch) -> None:
    data = Path(full).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    assert main(["diagnose", "-", "--top", "0"]) == 0
    assert capsys.readouterr().out.startswith("<stdin>\n26 kernels in 26 launches")


@pytest.mark.usefixtures("judged")
def test_inconclusive_is_exit_code_three_with_a_command(samples, capsys) -> None:
    assert main(["diagnose", "x", "--top", "3"]) == 3
    assert f"\n{samples.command}\n" in capsys.readouterr().out


@pytest.mark.usefixtures("judged")
def test_several_captures_are_one_document(capsys) -> None:
    assert main(["diagnose", "x", "y", "--format", "json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert len(found["captures"]) == 2
    assert len(found["kernels"]) == 8


@pytest.mark.usefixtures("judged")
def test_a_kernel_filter(capsys) -> None:
    assert main(["diagnose", "x", "--kernel", "^gemm_.*float", "--top", "9"]) == 0
    out = capsys.readouterr().out
    assert "2 kernels in 2 launches" in out
    assert "bank_conflict" not in out


@pytest.mark.usefixtures("judged")
def test_a_kernel_filter_that_matches_nothing_says_what_there_is(capsys) -> None:
    assert main(["diagnose", "x", "--kernel", "softmax"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no kernel's name matches 'softmax'" in err
    assert "where: gemm_series.full.raw.csv" in err
    assert "there are: gemm_bad(const float *" in err


@pytest.mark.usefixtures("judged")
def test_a_kernel_filter_that_is_no_expression(capsys) -> None:
    assert main(["diagnose", "x", "--kernel", "gemm("]) == 2
    assert "--kernel 'gemm(' is not a regular expression" in capsys.readouterr().err


@pytest.mark.usefixtures("judged")
def test_into_a_file(tmp_path, capsys) -> None:
    path = tmp_path / "report.txt"
    assert main(["diagnose", "x", "-o", str(path)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert path.read_text(encoding="utf-8").startswith(
        "gemm_series.full.raw.csv\n4 kernels in 20,003 launches"
    )
    assert err == (
        "kernelprof: warning: gemm_series.full.raw.csv: "
        "The last row is cut off in the middle and was left out.\n"
    )


@pytest.mark.usefixtures("judged")
def test_warnings_are_on_stderr_where_a_program_reads_the_output(capsys) -> None:
    main(["diagnose", "x", "--format", "json"])
    assert "warning: gemm_series.full.raw.csv: The last row" in capsys.readouterr().err
    main(["diagnose", "x"])
    out, err = capsys.readouterr()
    assert err == ""
    assert "warning: The last row" in out


def test_one_bad_capture_among_several_gives_no_output(full, tmp_path, capsys) -> None:
    assert main(["diagnose", full, str(tmp_path / "missing.csv")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "missing.csv" in err


@pytest.mark.usefixtures("no_ncu")
@pytest.mark.parametrize("preset", [None, "dram"])
def test_a_program_without_ncu_gets_the_command(capsys, preset) -> None:
    option = [] if preset is None else ["--preset", preset]
    assert main(["diagnose", *option, "--", "./app", "--size", "4 K"]) == 4
    out, err = capsys.readouterr()
    assert out == ""
    assert "ncu (Nsight Compute) is not installed here" in err
    printed = ["command", "--preset", preset or "full", "--clock-control", "none"]
    assert main([*printed, "--", "./app", "--size", "4 K"]) == 0
    assert err.endswith(f"\n{capsys.readouterr().out}")


@pytest.mark.usefixtures("no_ncu")
def test_the_command_for_a_program_keeps_the_kernel_filter(capsys) -> None:
    assert main(["diagnose", "--preset", "dram", "--kernel", "^gemm_(a|b)", "--", "./app"]) == 4
    words = shlex.split(capsys.readouterr().err.splitlines()[-1])
    plain = ncu_command("dram", clock_control="none", application=["./app"])
    filtered = ["--kernel-name-base", "demangled", "--kernel-name", "regex:^gemm_(a|b)"]
    assert words == [plain[0], *filtered, *plain[1:]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "there is nothing to diagnose"),
        (["a.cu", "b.cu"], "a source is diagnosed by itself"),
        (["x.csv", "--", "./app"], "captures and a program are given together"),
        (["-", "-"], "standard input can be read once"),
        (["x.csv", "--preset", "drm"], "no preset is called 'drm'"),
    ],
)
def test_what_does_not_fit_together(capsys, arguments, expected) -> None:
    assert main(["diagnose", *arguments]) == 2
    assert expected in capsys.readouterr().err


def test_a_preset_is_what_the_printed_command_collects(captures, capsys) -> None:
    capture = str(captures / "pycuda_two_kernels.seven-metrics.raw.csv")
    assert main(["diagnose", capture, "--preset", "full", "--format", "json"]) == 3
    found = json.loads(capsys.readouterr().out)
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


def test_captures_of_the_same_launches_are_merged(captures, capsys) -> None:
    thin = str(captures / "gemm_series.eight-metrics.raw.csv")
    full = str(captures / "gemm_series.full.raw.csv")
    assert main(["diagnose", thin, full, "--merge", "--format", "json"]) in {0, 3}
    found = json.loads(capsys.readouterr().out)
    assert [capture["origin"] for capture in found["captures"]] == [f"{thin} + {full}"]


def test_captures_of_other_launches_cannot_be_merged(captures, capsys) -> None:
    other = str(captures / "pycuda_two_kernels.seven-metrics.raw.csv")
    full = str(captures / "gemm_series.full.raw.csv")
    assert main(["diagnose", other, full, "--merge"]) == 2
    assert "none of the launches" in capsys.readouterr().err
