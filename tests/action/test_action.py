"""The GitHub Action and the example pipelines: valid, and its scripts run as GitHub runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
ACTION = YAML(typ="safe").load(ROOT / "action.yml")
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
OUTPUTS = ("outcome", "exit-code", "markdown", "junit", "sarif", "html-report")

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass
class Job:
    """A job's folders and files, as the runner gives them to each step."""

    folder: Path
    environment: dict[str, str]

    def __post_init__(self) -> None:
        for name in ("workspace", "temp"):
            (self.folder / name).mkdir()
        self.summary.touch()
        self.output.touch()

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.md"

    @property
    def output(self) -> Path:
        return self.folder / "output"

    def install(self, script: str) -> None:
        """What the action's install step leaves: a program called ``kernelprof``."""
        program = self.folder / "temp" / "kernelprof-gate" / "bin" / "kernelprof"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    def run(self, name: str, **context: str) -> subprocess.CompletedProcess[str]:
        """Run one of the action's scripts with its expressions filled in."""
        step = STEPS[name]
        known = {
            "runner.temp": str(self.folder / "temp"),
            "github.action_path": str(ROOT),
            **{
                f"inputs.{key}": value.get("default", "") for key, value in ACTION["inputs"].items()
            },
            **context,
        }
        given = {
            key: EXPRESSION.sub(lambda match: known[match[1]], value)
            for key, value in step.get("env", {}).items()
        }
        script = self.folder / "script.sh"
        script.write_text(step["run"], encoding="utf-8")
        assert step["shell"] == "bash"
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            env={
                **self.environment,
                "GITHUB_OUTPUT": str(self.output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "RUNNER_TEMP": str(self.folder / "temp"),
                **given,
            },
            cwd=self.workspace,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    def gate(self, baseline: str, candidate: str, **inputs: str) -> dict[str, str]:
        """Run the gate's step; its outputs, as the runner reads them."""
        given = {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        done = self.run(
            "Gate", **{"inputs.baseline": baseline, "inputs.candidate": candidate, **given}
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[0].startswith("::stop-commands::")
        assert lines[-1] == f"::{lines[0].removeprefix('::stop-commands::')}::"
        return _outputs(self.output.read_text(encoding="utf-8"))


def _outputs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, _, end = line.partition("<<")
        value = []
        while (inner := next(lines)) != end:
            value.append(inner)
        found[name] = "\n".join(value)
    return found


@pytest.fixture
def job(tmp_path: Path, cli_environment: dict[str, str]) -> Job:
    kept = {
        name: value for name, value in cli_environment.items() if not name.startswith("GITHUB_")
    }
    return Job(tmp_path, kept)


@pytest.fixture
def gate_job(job: Job) -> Job:
    """A job in which the action is installed."""
    job.install(f'exec {sys.executable} -m kernelprof "$@"')
    return job


@pytest.fixture(scope="session")
def changes(captures: Path) -> Path:
    return captures / "h200_changes"


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-workflows", "examples/github/gate.yml"),
        ("vendor.gitlab-ci", "examples/gitlab/.gitlab-ci.yml"),
    ],
)
def test_it_follows_the_published_schema(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _scripts() -> list[Any]:
    workflow = YAML(typ="safe").load(ROOT / "examples" / "github" / "gate.yml")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in (*STEPS.values(), *steps) if "run" in step]


def test_no_script_has_an_expression_in_it() -> None:
    assert len(_scripts()) == 5
    assert not any("${{" in script for script in _scripts())


@pytest.mark.parametrize("script", _scripts())
def test_every_script_is_bash(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_input_is_used_and_every_output_is_set() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name in ACTION["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in text
    assert tuple(ACTION["outputs"]) == OUTPUTS
    for name in OUTPUTS:
        assert ACTION["outputs"][name]["value"] == f"${{{{ steps.gate.outputs.{name} }}}}"
        assert re.search(rf"put(_file)? {name} ", STEPS["Gate"]["run"])


def test_a_regression_fails_and_tells(gate_job: Job, changes: Path) -> None:
    found = gate_job.gate(str(changes / "coalesced" / "1"), str(changes / "naive" / "2"))
    assert (found["outcome"], found["exit-code"]) == ("regression", "1")
    assert "html-report" not in found
    markdown = gate_job.summary.read_text(encoding="utf-8")
    assert markdown.startswith(
        "### kernelprof gate: regression\n\n**Regression: 1 worse.** `sgemm_naive`: 13.1x slower"
    )
    assert (gate_job.workspace / found["markdown"]).read_text(encoding="utf-8") == markdown
    suite = ET.parse(gate_job.workspace / found["junit"]).getroot()
    assert suite.get("failures") == "1"
    sarif = YAML(typ="safe").load(gate_job.workspace / found["sarif"])
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "cuda/ladder/01_naive.cu"
    assert place["region"]["startLine"] > 1
    last = gate_job.run("Outcome", **{"steps.gate.outputs.exit-code": found["exit-code"]})
    assert last.returncode == 1


def test_the_same_code_passes(gate_job: Job, changes: Path) -> None:
    coalesced = changes / "coalesced"
    found = gate_job.gate(str(coalesced / "1"), str(coalesced / "2"), summary="false")
    assert (found["outcome"], found["exit-code"]) == ("pass", "0")
    assert gate_job.summary.read_text(encoding="utf-8") == ""
    assert (gate_job.workspace / "kernelprof-gate.md").is_file()
    last = gate_job.run("Outcome", **{"steps.gate.outputs.exit-code": "0"})
    assert last.returncode == 0


def test_a_policy_and_files_of_other_names(gate_job: Job, changes: Path) -> None:
    (gate_job.workspace / "gate policy.toml").write_text(
        'max_slowdown = 20\nnew_bottleneck = "allow"\ncounter_worse = "allow"\n', encoding="utf-8"
    )
    found = gate_job.gate(
        str(changes / "coalesced" / "1"),
        str(changes / "naive" / "2"),
        policy="gate policy.toml",
        comment="a comment.md",
        junit="",
        sarif="",
    )
    assert found == {"outcome": "pass", "exit-code": "0", "markdown": "a comment.md"}
    assert sorted(path.name for path in gate_job.workspace.iterdir()) == [
        "a comment.md",
        "gate policy.toml",
    ]


def test_a_report_for_a_browser(gate_job: Job, changes: Path) -> None:
    found = gate_job.gate(
        str(changes / "chain" / "1"),
        str(changes / "chain-strides" / "2"),
        html_report="report.html",
    )
    assert (found["outcome"], found["html-report"]) == ("regression", "report.html")
    assert "<html" in (gate_job.workspace / "report.html").read_text(encoding="utf-8")


def test_bad_input_is_an_error_and_leaves_no_old_files(gate_job: Job, changes: Path) -> None:
    for name in ("kernelprof-gate.md", "kernelprof-gate.sarif"):
        (gate_job.workspace / name).write_text("of an earlier run", encoding="utf-8")
    found = gate_job.gate("no such capture", str(changes / "naive" / "2"))
    assert found == {"outcome": "error", "exit-code": "2"}
    assert list(gate_job.workspace.iterdir()) == []
    assert gate_job.summary.read_text(encoding="utf-8") == ""
    last = gate_job.run("Outcome", **{"steps.gate.outputs.exit-code": "2"})
    assert last.returncode == 2


@pytest.mark.parametrize(
    "value", ["$(touch evil)", "`touch evil`", '"; touch evil; "', "--help", "a\nb<<c", "-"]
)
def test_inputs_are_no_part_of_the_script(job: Job, value: str) -> None:
    job.install("touch kernelprof-gate.md; printf '%s\\n' \"$@\" > arguments; exit 3")
    found = job.gate(value, value, policy=value)
    assert (found["outcome"], found["exit-code"]) == ("inconclusive", "3")
    arguments = (job.workspace / "arguments").read_text(encoding="utf-8")
    assert arguments.endswith(f"--\n{value}\n{value}\n")
    assert f"\n--policy={value}\n" in arguments
    assert not (job.workspace / "evil").exists()


def test_a_kernels_name_cannot_set_outputs_or_give_commands(job: Job) -> None:
    job.install("printf '::set-output name=outcome::pass\\n::error::x\\n'; exit 1")
    assert job.gate("a", "b")["outcome"] == "regression"


def test_the_action_installs_itself(job: Job) -> None:
    stub = job.folder / "python"
    stub.write_text(
        '#!/bin/sh\necho "$@"\n'
        '[ "$2" != venv ] || { mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; }\n',
        encoding="utf-8",
    )
    stub.chmod(0o755)
    done = job.run("Install kernelprof", **{"steps.python.outputs.python-path": str(stub)})
    folder = job.folder / "temp" / "kernelprof-gate"
    assert done.stdout == (
        f"-m venv {folder}\n-m pip install --quiet --disable-pip-version-check {ROOT}\n"
    )


def test_the_example_comments_once_and_then_edits(job: Job) -> None:
    workflow = YAML(typ="safe").load(ROOT / "examples" / "github" / "gate.yml")
    (step,) = [each for each in workflow["jobs"]["gate"]["steps"] if each.get("name") == "Comment"]
    (job.workspace / "kernelprof-gate.md").write_text("### answer\n", encoding="utf-8")
    tools = job.folder / "tools"
    tools.mkdir()
    program = tools / "gh"
    program.write_text(
        '#!/bin/sh\necho "$@" >> "$CALLS"\ncase "$*" in *--jq*) printf "%s" "$KNOWN" ;; esac\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    calls = job.folder / "calls"
    for known, method, place in (
        ("", "POST", "repos/me/it/issues/7/comments"),
        ("31\n32\n", "PATCH", "repos/me/it/issues/comments/31"),
    ):
        calls.write_text("", encoding="utf-8")
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=job.workspace,
            env={
                **job.environment,
                "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                "CALLS": str(calls),
                "KNOWN": known,
                "REPOSITORY": "me/it",
                "NUMBER": "7",
            },
            check=True,
        )
        last = calls.read_text(encoding="utf-8").splitlines()[-1]
        assert last == f"api --silent --method {method} {place} --field body=@comment.md"
    comment = (job.workspace / "comment.md").read_text(encoding="utf-8")
    assert comment == "<!-- kernelprof gate -->\n### answer\n"
