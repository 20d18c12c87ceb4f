"""The commands that read no capture."""

from __future__ import annotations

import json
import shlex

import jsonschema
import pytest

from kernelprof.analysis.metrics.catalogue import presets
from kernelprof.analysis.ncu_command import ncu_command
from kernelprof.analysis.rules import registry
from kernelprof.cli.main import main


@pytest.fixture(autouse=True)
def _width(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_presets_lists_all(capsys) -> None:
    assert main(["presets"]) == 0
    out = capsys.readouterr().out
    title, _, _, *lines = out.splitlines()
    assert title == "Metric presets"
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == [*presets()]
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_preset_shows_names_units_and_reasons(capsys) -> None:
    assert main(["presets", "coalescing"]) == 0
    out = capsys.readouterr().out
    assert "\nglobal_load_sectors (sector)\nl1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\n" in out


def test_an_unknown_preset(capsys) -> None:
    assert main(["presets", "coalescin"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no preset is called 'coalescin'" in err
    assert "did you mean coalescing" in err


def test_command_prints_the_ncu_command_and_nothing_else(capsys) -> None:
    program = ["./app", "a b", "--debug", "$HOME"]
    assert main(["command", "--preset", "dram", "--", *program]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.count("\n") == 1
    assert shlex.split(out) == ncu_command("dram", application=program)
    assert shlex.split(out)[-4:] == program


def test_command_takes_filters_and_clocks(capsys) -> None:
    options = ["--kernel", "gemm", "--launch-skip", "2", "--launch-count", "1"]
    assert (
        main(["command", "--preset", "dram", *options, "--clock-control", "none", "--", "./x"]) == 0
    )
    words = shlex.split(capsys.readouterr().out)
    assert words[words.index("--launch-skip") + 1] == "2"
    assert words[words.index("--launch-count") + 1] == "1"
    assert words[words.index("--clock-control") + 1] == "none"
    assert "gemm" in words[words.index("--kernel-name") + 1]


def test_command_without_a_program_has_a_placeholder(capsys) -> None:
    assert main(["command", "--preset", "dram"]) == 0
    assert capsys.readouterr().out.endswith("./app args...\n")


@pytest.mark.parametrize("slug", list(registry()))
def test_explain(capsys, slug: str) -> None:
    assert main(["explain", slug]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{slug}: {registry()[slug].title}\n")
    assert "\nWhat to do ──" in out


def test_explain_in_markdown(capsys) -> None:
    assert main(["explain", "small-grid", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("### small-grid: Grid too small for the GPU\n\n")


def test_explain_without_a_name_lists_all(capsys) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert all(f"{slug} " in out for slug in registry())


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("uncoalesced", "uncoalesced-global-access"),
        ("bank-conflicts", "shared-bank-conflicts"),
        ("dram-bandwith", "dram-bandwidth"),
    ],
)
def test_an_unknown_bottleneck_has_close_matches(capsys, name: str, close: str) -> None:
    assert main(["explain", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"no bottleneck is called '{name}'" in err
    assert close in err


@pytest.mark.parametrize(
    ("arguments", "document"),
    [
        ([], "diagnosis"),
        (["diagnosis"], "diagnosis"),
        (["comparison"], "comparison"),
        (["gate"], "gate"),
    ],
)
def test_schema(capsys, arguments: list[str], document: str) -> None:
    assert main(["schema", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$id"] == f"urn:kernelprof:{document}:v1"


def test_a_schema_that_there_is_not(capsys) -> None:
    assert main(["schema", "verdict"]) == 2
    assert "verdict" in capsys.readouterr().err
