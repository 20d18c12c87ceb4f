"""Starting is cheap: what a command does not need is not imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kernelprof.sources import raw_page, source

AGAIN = pytest.mark.slow("starts one more process")
HEAVY = {"pandas", "numpy", "pycuda", "jinja2", "pyarrow", "scipy", "mcp", "anyio"} | {
    "ray",
    "duckdb",
    "fsspec",
}

LOADED = "import json, sys; sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
RUN = f"import sys; from kernelprof.cli.main import main; main(sys.argv[1:]); {LOADED}"
EMPTY_APP = f"""
import typer
app = typer.Typer(add_completion=False)
@app.command()
def one() -> None: ...
@app.command()
def two() -> None: ...
try:
    app(["--help"])
except SystemExit:
    pass
{LOADED}
"""


def _modules(environment: dict[str, str], code: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**environment, "KERNELPROF_NCU": "/no/such/ncu"},
        timeout=60,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        pytest.param(("--help",), marks=AGAIN),
        pytest.param(("--version",), marks=AGAIN),
        pytest.param(("diagnose", "--help"), marks=AGAIN),
        ("diagnose", "--", "./app"),
        ("profile", "-o", "no-such-folder/out", "--", "./app"),
        ("doctor",),
        ("fleet", "run", "no-such-plan.toml"),
        pytest.param(("presets",), marks=AGAIN),
        pytest.param(("presets", "full"), marks=AGAIN),
        pytest.param(("command", "--preset", "full", "--", "./app"), marks=AGAIN),
        ("explain",),
        pytest.param(("explain", "no-such-rule"), marks=AGAIN),
        pytest.param(("schema",), marks=AGAIN),
        pytest.param(("mcp", "--help"), marks=AGAIN),
    ],
    ids=" ".join,
)
def test_commands_that_read_no_capture_import_nothing_heavy(cli_environment, arguments) -> None:
    heavy = HEAVY & _modules(cli_environment, RUN, *arguments)
    assert not heavy


def test_explaining_a_rule_runs_it_and_loads_numpy_alone(cli_environment) -> None:
    """What a rule looks at is found out by running it."""
    assert HEAVY & _modules(cli_environment, RUN, "explain", "small-grid") == {"numpy"}


def test_importing_the_package_imports_nothing_else(cli_environment) -> None:
    code = f"import sys; before = set(sys.modules); import kernelprof; {LOADED}"
    assert not _modules(cli_environment, code) & (HEAVY | {"typer", "rich"})


def test_a_version_needs_no_models(cli_environment) -> None:
    assert "msgspec" not in _modules(cli_environment, RUN, "--version")


def test_json_needs_neither_rich_nor_jinja2(cli_environment) -> None:
    loaded = _modules(cli_environment, f"import kernelprof.report.writers.json; {LOADED}")
    assert not loaded & (HEAVY | {"rich"})


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        ("gemm_series.full.raw.csv", set()),
        pytest.param("gemm_series.full.details.csv", set(), marks=AGAIN),
        ("long", {"pyarrow"}),
    ],
)
def test_a_diagnosis_loads_no_pandas(
    cli_environment, captures, tmp_path, name: str, loaded: set[str]
) -> None:
    """It is installed here: what reads tables may not load it by the way."""
    path = captures / name
    if name == "long":
        text = (captures / "pycuda_two_kernels.seven-metrics.raw.csv").read_text()
        head, units, *rows = text[text.index('"ID"') :].splitlines(keepends=True)
        path = tmp_path / "long.csv"
        path.write_text("".join([head, units, *(rows * 300)]))
        assert path.stat().st_size > raw_page.WORTH_A_BLOCK + source.FIRST
    found = _modules(cli_environment, RUN, "diagnose", str(path), "--format", "json")
    costly = {"pandas", "pyarrow", "pyarrow.compute", "scipy", "jinja2", "rich.console", "numpy.ma"}
    assert found & costly == loaded


def test_help_imports_little_more_than_an_empty_app(cli_environment) -> None:
    more = _modules(cli_environment, RUN, "--help") - _modules(cli_environment, EMPTY_APP)
    foreign = {name for name in more if not name.startswith("kernelprof")}
    assert len(foreign) < 20, sorted(foreign)
