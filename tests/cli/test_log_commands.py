"""What strangers wrote is no command to the CI system whose log it ends up in.

The rules are those of the programs that read logs: GitHub's runner takes a line that begins with
``::`` after white space, and ``##[`` anywhere in a line (``ActionCommand.cs``); the agent of Azure
Pipelines ``##vso[`` anywhere (``Command.cs``), TeamCity ``##teamcity[``; GitLab ``section_start:``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.few import part_of

from kernelprof.errors import InputError
from kernelprof.model.log_commands import escape_log_commands

if TYPE_CHECKING:
    from tests.conftest import RunCli

CAPTURES = Path(__file__).parents[1] / "captures"
CHANGES = CAPTURES / "h200_changes"
TAKEN = re.compile(r"##(?:vso|teamcity)?\[|section_(?:start|end):[0-9]")
ATTACKS = (
    "::error::taken",
    "  ::error::taken",
    "\u00a0\u3000::error::taken",
    "##[error]taken",
    "x ##[add-mask]taken",
    "###[error]taken",
    "##vso[task.complete result=Failed]taken",
    "##teamcity[buildStop]",
    "a\n::error::taken",
    "a\r::error::taken",
    "section_start:1:x\r\x1b[0K",
    "ns" * 38 + "::error::taken",
    "x " * 38 + "::error::taken",
    "{::error::##[error]}",
)
SOME = part_of(5, ATTACKS, ATTACKS[8], why="a dozen commands with another name")
names = st.lists(
    st.sampled_from(["::", "error", "::error::", "##[", "##vso[", "]", " ", "\n", "\r", "#", "x"])
    | st.text(max_size=90),
    min_size=1,
    max_size=12,
).map("".join)


def commands(text: str) -> list[str]:
    """The lines that some CI system would take for a command; a return ends a line as well."""
    lines = re.split(r"[\r\n]", text)
    return [each for each in lines if each.lstrip().startswith("::") or TAKEN.search(each)]


def renamed(place: Path, name: str) -> str:
    """A real capture whose first kernel has another name."""
    with (CAPTURES / "four_gemms.full.raw.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    at = rows[0].index("Kernel Name")
    rows[2][at] = name
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    place.write_text(text.getvalue(), encoding="utf-8", errors="replace", newline="")
    return str(place)


@pytest.mark.parametrize("name", SOME)
def test_a_kernel_s_name_is_no_command(run_cli: RunCli, tmp_path: Path, name: str) -> None:
    file = renamed(tmp_path / "a.csv", name)
    for arguments in (
        ("diagnose", file),
        ("diagnose", file, "--explain", "--top", "9"),
        ("diagnose", file, "--top", "0"),
        ("diagnose", file, "--format", "markdown"),
        ("diagnose", file, "--kernel", "no such"),
        ("compare", file, str(CAPTURES / "four_gemms.full.raw.csv")),
        ("compare", file, file, "--format", "markdown"),
        ("gate", file, file),
        ("gate", file, file, "--format", "junit"),
        ("baseline", "save", file, "-o", str(tmp_path / "b.json"), "--force"),
        ("baseline", "show", str(tmp_path / "b.json")),
        ("history", str(tmp_path)),
        ("history", str(tmp_path), "--format", "csv"),
    ):
        done = run_cli(*arguments)
        assert done.returncode in {0, 1, 2, 3}, done.stderr
        assert commands(done.stdout) == [], arguments
        assert commands(done.stderr) == [], arguments


@pytest.mark.parametrize("name", SOME)
def test_json_on_stdout_has_no_command_and_the_very_name(
    run_cli: RunCli, tmp_path: Path, name: str
) -> None:
    file = renamed(tmp_path / "a.csv", name)
    for command in (("diagnose", file), ("compare", file, file), ("gate", file, file)):
        done = run_cli(*command, "--format", "json")
        assert commands(done.stdout) == []
        written = tmp_path / "out.json"
        run_cli(*command, "--format", "json", "-o", str(written))
        assert json.loads(done.stdout) == json.loads(written.read_text("utf-8"))
        assert run_cli("schema").stdout.startswith("{")


@pytest.mark.parametrize(
    "name",
    [
        "::error::x",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("##[error]x", "##vso[task.complete]x", "--##[error]x")
        ),
    ],
)
def test_the_name_of_a_file_is_no_command(run_cli: RunCli, tmp_path: Path, name: str) -> None:
    renamed(tmp_path / f"{name}.csv", "k")
    (tmp_path / f"{name}.txt").write_text("nothing", "utf-8")
    for arguments in (
        ("diagnose", f"{name}.csv"),
        ("diagnose", f"{name}.txt"),
        ("diagnose", "."),
        ("diagnose", name),
        ("compare", f"{name}.csv", f"{name}.csv"),
        ("gate", f"{name}.csv", f"{name}.json"),
        ("report", f"{name}.csv", "-o", f"{name}.html"),
        ("baseline", "save", f"{name}.csv", "-o", f"{name}.json"),
        (name,),
        ("--debug", "diagnose", name),
    ):
        done = run_cli(*arguments, cwd=tmp_path)
        assert done.returncode != 70
        assert commands(done.stdout) == [], arguments
        assert commands(done.stderr) == [], arguments


def test_what_a_program_printed_last_is_no_command(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise InputError("it failed", hint="it printed:\n  ::error::taken\n  ##[error]taken")

    monkeypatch.setattr("kernelprof.interface.captures.profile", fails)
    done = run_cli("profile", "-o", "x", "--", "./app")
    assert done.returncode == 2
    assert r"  \::error::taken" in done.stderr.splitlines()
    assert commands(done.stderr) == []


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(names)
@pytest.mark.slow("many names")
def test_no_name_makes_a_command(run_cli: RunCli, tmp_path: Path, name: str) -> None:
    file = renamed(tmp_path / "a.csv", name)
    for form in ("text", "markdown", "json"):
        done = run_cli("diagnose", file, "--format", form)
        assert commands(done.stdout + "\n" + done.stderr) == []


@settings(deadline=None)
@given(names)
def test_any_text_is_harmless_and_stays_so(text: str) -> None:
    made = escape_log_commands(text)
    assert commands(made) == []
    assert escape_log_commands(made) == made
    assert made.replace("\\", "") == text.replace("\\", "") or text.startswith("{")


@settings(deadline=None)
@given(st.dictionaries(names, names))
def test_json_stays_the_same_json(values: dict[str, str]) -> None:
    for indent in (None, 1):
        text = json.dumps(values, indent=indent, ensure_ascii=False)
        assert json.loads(escape_log_commands(text)) == values
        assert TAKEN.search(escape_log_commands(text)) is None


def test_what_is_no_command_stays_as_it_is() -> None:
    text = "## heading\nat::native::copy\n- [x](#y) #[1] a::b\n  x ::y\n"
    assert escape_log_commands(text) == text
    assert escape_log_commands("::group::x") == r"\::group::x"
    assert escape_log_commands("a ##[error]b") == r"a #\#[error]b"
    assert escape_log_commands('{"a": "##[error]b"}') == '{"a": "#\\u0023[error]b"}'
    assert escape_log_commands("\x1b[1m::group::x") == "\x1b[1m\\::group::x"


def test_names_in_what_is_said_of_files_do_not_steer_the_terminal(
    run_cli: RunCli, tmp_path: Path
) -> None:
    name = "a\x1b[2Jb\n::error::c"
    renamed(tmp_path / f"{name}.csv", "k")
    for arguments in (
        ("report", f"{name}.csv", "-o", f"{name}.html"),
        ("baseline", "save", f"{name}.csv", "-o", f"{name}.json"),
        ("baseline", "accept", f"{name}.json", f"{name}.csv", "--reason", "so"),
        ("baseline", "update", f"{name}.json", str(CHANGES / "tile" / "1")),
    ):
        done = run_cli(*arguments, cwd=tmp_path)
        assert r"a\x1b[2Jb ::error::c." in done.stdout, done.stderr
        assert "\x1b" not in done.stdout + done.stderr
        assert commands(done.stdout + done.stderr) == []
