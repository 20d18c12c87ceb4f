"""The GitHub Action and the example pipelines: valid, and its scripts run as GitHub runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement
from ruamel.yaml import YAML
from tests.action.stand_in import (
    ACTION,
    PREDICT,
    PREDICT_STEPS,
    ROOT,
    STEPS,
    WORKFLOW,
    Runner,
)

if TYPE_CHECKING:
    from pathlib import Path

OUTPUTS = ("outcome", "exit-code", "markdown", "junit", "sarif", "html-report")
LOCK = ROOT / "requirements" / "gate.lock"
PREDICT_LOCK = ROOT / "requirements" / "predict.lock"


class Job(Runner):
    """A job that runs single steps of the action, where nothing is under review."""

    def install(self, script: str) -> None:
        """What the action's install step leaves: a Python, which here is a program of ours."""
        program = self.temp / "work" / "venv" / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    def step(self, name: str, **context: str) -> tuple[int, dict[str, str]]:
        """Run one of the action's scripts: its exit code and its outputs."""
        defaults = {
            f"inputs.{key}": each.get("default", "") for key, each in ACTION["inputs"].items()
        }
        prepared = {
            "steps.prepare.outputs.work": str(self.temp / "work"),
            "steps.prepare.outputs.review": "false",
        }
        (self.temp / "work").mkdir(exist_ok=True)
        self.log = ""
        return self.run(STEPS[name], {**self.context, **defaults, **prepared, **context})

    def predict(self, **inputs: str) -> tuple[int, dict[str, str]]:
        """Run the step of the other action: its exit code and its outputs."""
        defaults = {name: each.get("default", "") for name, each in PREDICT["inputs"].items()}
        given = {f"inputs.{name}": text for name, text in {**defaults, **inputs}.items()}
        venv = {"steps.install.outputs.venv": str(self.temp / "work" / "venv")}
        self.log = ""
        return self.run(PREDICT_STEPS["Predict"], {**self.context, **given, **venv})

    def gate(self, baseline: str, candidate: str, **inputs: str) -> dict[str, str]:
        """Run the gate's step; its outputs, as the runner reads them."""
        given = {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        code, outputs = self.step(
            "Gate", **{"inputs.baseline": baseline, "inputs.candidate": candidate, **given}
        )
        assert code == 0, self.log
        lines = self.log.splitlines()
        assert lines[0].startswith("::stop-commands::")
        assert f"::{lines[0].removeprefix('::stop-commands::')}::" in lines
        return outputs


@pytest.fixture
def job(tmp_path: Path, cli_environment: dict[str, str]) -> Job:
    kept = {
        name: value for name, value in cli_environment.items() if not name.startswith("GITHUB_")
    }
    return Job(tmp_path, kept)


@pytest.fixture
def gate_job(job: Job) -> Job:
    """A job in which the action is installed."""
    job.install(f'[ "$1" = -I ] && shift\nexec {sys.executable} "$@"')
    return job


@pytest.fixture(scope="session")
def changes(captures: Path) -> Path:
    return captures / "h200_changes"


@pytest.mark.parametrize(
    ("schema", "file"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-actions", "action/predict/action.yml"),
        ("vendor.github-workflows", "examples/github/gate.yml"),
        ("vendor.github-workflows", ".github/workflows/audit.yml"),
        ("vendor.github-workflows", ".github/workflows/docs.yml"),
        ("vendor.github-workflows", ".github/workflows/release.yml"),
        ("vendor.gitlab-ci", "examples/gitlab/.gitlab-ci.yml"),
    ],
)
def test_it_follows_the_published_schema(schema: str, file: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _scripts() -> list[Any]:
    return [step["run"] for step in _all_steps() if "run" in step]


def _all_steps() -> list[Any]:
    jobs = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    return [*STEPS.values(), *PREDICT_STEPS.values(), *jobs]


def test_no_script_has_an_expression_in_it() -> None:
    assert len(_scripts()) == 10
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
    text = (ROOT / "action" / "predict" / "action.yml").read_text(encoding="utf-8")
    for name in PREDICT["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in text
    assert list(PREDICT["outputs"]) == ["predicted"]


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
    assert gate_job.step("Outcome", **{"steps.gate.outputs.exit-code": found["exit-code"]})[0] == 1


def test_the_same_code_passes(gate_job: Job, changes: Path) -> None:
    coalesced = changes / "coalesced"
    found = gate_job.gate(str(coalesced / "1"), str(coalesced / "2"), summary="false")
    assert (found["outcome"], found["exit-code"]) == ("pass", "0")
    assert gate_job.summary.read_text(encoding="utf-8") == ""
    assert (gate_job.workspace / "kernelprof-gate.md").is_file()
    assert gate_job.step("Outcome", **{"steps.gate.outputs.exit-code": "0"})[0] == 0


@pytest.mark.slow("one more gate in a process")
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


@pytest.mark.slow("one more gate in a process")
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
    assert gate_job.step("Outcome", **{"steps.gate.outputs.exit-code": "2"})[0] == 2


@pytest.mark.parametrize(
    "value", ["$(touch evil)", "`touch evil`", '"; touch evil; "', "--help", "a\nb<<c", "-"]
)
def test_inputs_are_no_part_of_the_script(job: Job, value: str) -> None:
    job.install("touch kernelprof-gate.md; printf '%s\\n' \"$@\" > arguments; exit 3")
    found = job.gate(value, value, policy=value)
    assert (found["outcome"], found["exit-code"]) == ("inconclusive", "3")
    arguments = (job.workspace / "arguments").read_text(encoding="utf-8")
    assert arguments.startswith("-I\n-m\nkernelprof\ngate\n")
    assert arguments.endswith(f"--\n{value}\n{value}\n")
    assert f"\n--policy={value}\n" in arguments
    assert not (job.workspace / "evil").exists()


def test_a_kernels_name_cannot_set_outputs_or_give_commands(job: Job) -> None:
    job.install("printf '::set-output name=outcome::pass\\n::error::x\\n'; exit 1")
    assert job.gate("a", "b")["outcome"] == "regression"


def test_the_action_installs_itself_isolated_and_what_is_pinned(job: Job) -> None:
    stub = job.folder / "python"
    stub.write_text(
        '#!/bin/sh\necho "$PWD $PYTHONPATH$PYTHONSAFEPATH$PYTHONNOUSERSITE" "$@"\n'
        '[ "$3" != venv ] || { mkdir -p "$4/bin" && cp "$0" "$4/bin/python"; }\n',
        encoding="utf-8",
    )
    stub.chmod(0o755)
    code, _ = job.step("Install kernelprof", **{"steps.python.outputs.python-path": str(stub)})
    work = job.temp / "work"
    install = f"{work} 11 -I -m pip install --quiet --disable-pip-version-check --no-deps"
    pinned = f"--require-hashes --only-binary :all: --requirement {LOCK}"
    assert code == 0
    assert job.log == (
        f"{work} 11 -I -m venv {work / 'venv'}\n"
        f"{install} {pinned}\n"
        f"{install} --no-index --no-build-isolation {ROOT}\n"
    )


def test_every_action_is_pinned_by_its_commit() -> None:
    texts = [
        (ROOT / name).read_text(encoding="utf-8")
        for name in (
            "action.yml",
            "action/predict/action.yml",
            "examples/github/gate.yml",
            ".github/workflows/audit.yml",
            ".github/workflows/docs.yml",
            ".github/workflows/release.yml",
        )
    ]
    used = re.findall(r"uses: (\S+)(.*)", "\n".join(texts))
    assert len(used) == 33
    for name, comment in used:
        if name in {"OWNER/kernelprof@COMMIT", "OWNER/kernelprof/action/predict@COMMIT"}:
            continue
        assert re.fullmatch(r"[\w-]+(/[\w-]+)+@[0-9a-f]{40}", name), name
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), name
    by_name = {name.partition("@")[0]: name for name, _ in used}
    assert {name for name, _ in used} == set(by_name.values())


def test_every_lock_is_audited_and_a_release_is_built_from_one() -> None:
    audit, release = (
        (ROOT / ".github" / "workflows" / name).read_text("utf-8")
        for name in ("audit.yml", "release.yml")
    )
    command = audit.partition("pip-audit --strict --disable-pip --require-hashes")[2]
    locks = sorted(f"requirements/{path.name}" for path in LOCK.parent.glob("*.lock"))
    assert sorted(re.findall(r"--requirement (\S+)", command)) == locks
    build = release[release.index("Build with pinned") : release.index("upload-artifact")]
    assert "--require-hashes" in build
    assert "requirements/tools.lock" in build
    assert "python -m build --no-isolation" in build


def test_no_checkout_keeps_the_token() -> None:
    checkouts = [step for step in _all_steps() if "actions/checkout" in step.get("uses", "")]
    assert len(checkouts) == 4
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_jobs_have_no_more_rights_than_they_need() -> None:
    assert WORKFLOW["permissions"] == {}
    rights = {name: job["permissions"] for name, job in WORKFLOW["jobs"].items()}
    read = {"contents": "read"}
    write = {**read, "pull-requests": "write", "security-events": "write"}
    assert rights == {
        "predict": read,
        "predicted": read,
        "profile": read,
        "gate": read,
        "tell": write,
    }
    assert set(WORKFLOW["on"]) == {"pull_request"}
    # Code of the pull request runs where it is predicted and profiled alone.
    for name in ("predicted", "gate", "tell"):
        scripts = "".join(step.get("run", "") for step in WORKFLOW["jobs"][name]["steps"])
        assert not re.search(r"python|pip |make |\./", scripts)
    for name in ("predicted", "gate"):
        steps = WORKFLOW["jobs"][name]["steps"]
        assert not any("checkout" in step.get("uses", "") for step in steps)
        assert not any("predict" in step.get("uses", "") for step in steps)


def test_the_runner_with_a_gpu_is_asked_last() -> None:
    jobs = WORKFLOW["jobs"]
    assert jobs["predicted"]["needs"] == "predict"
    assert jobs["profile"]["needs"] == "predicted"
    assert jobs["gate"]["needs"] == "profile"
    assert "self-hosted" not in str([jobs[name]["runs-on"] for name in jobs if name != "profile"])


def _locked(lock: Path) -> list[tuple[Requirement, int]]:
    """What is pinned, each with the number of its hashes."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found = []
    for line in filter(None, map(str.strip, lines)):
        wanted, *hashes = line.split(" --hash=")
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each.strip()) for each in hashes), line
        found.append((Requirement(wanted), len(hashes)))
    return found


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(("lock", "extra"), [(LOCK, ""), (PREDICT_LOCK, "predict")])
def test_the_lock_has_all_that_is_needed(python: str, machine: str, lock: Path, extra: str) -> None:
    here = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "platform_machine": machine,
        "sys_platform": "linux",
        "platform_system": "Linux",
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    needed += project["project"]["optional-dependencies"].get(extra, [])
    pinned: dict[str, str] = {}
    for each, hashes in _locked(lock):
        if each.marker is None or each.marker.evaluate(here):
            (version,) = each.specifier
            assert version.operator == "=="
            assert each.name not in pinned
            assert hashes
            pinned[each.name] = version.version
    assert len(needed) >= 12
    for text in needed:
        wanted = Requirement(text)
        assert wanted.specifier.contains(pinned[wanted.name]), wanted


@pytest.mark.parametrize("lock", [LOCK, PREDICT_LOCK])
def test_the_lock_says_nothing_of_where_it_was_made(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash)", text, re.MULTILINE)
    wanted = (ROOT / "requirements" / "build.in").read_text(encoding="utf-8").split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert wanted == project["build-system"]["requires"]


@pytest.mark.exhaustive("several predictions")
def test_kernels_are_predicted_for_the_gate(gate_job: Job) -> None:
    shutil.copy(ROOT / "examples" / "matvec.cu", gate_job.workspace / "mat vec.cu")
    given = {"sources": "mat vec.cu\n", "arch": "sm_80,sm_90"}
    code, outputs = gate_job.predict(**given)
    assert code == 0, gate_job.log
    assert outputs == {"predicted": "kernelprof-predicted.json"}
    held = json.loads((gate_job.workspace / outputs["predicted"]).read_text("utf-8"))
    assert [each["predicted"]["arch"] for each in held["kernels"]] == ["sm_80", "sm_90"]
    found = gate_job.gate("kernelprof-predicted.json", "kernelprof-predicted.json")
    assert found["outcome"] == "pass"
    code, outputs = gate_job.predict(sources="no.cu")
    assert (code, outputs) == (2, {})
    assert "there is no such file" in gate_job.log


@pytest.mark.parametrize("value", ["$(touch evil)", "`touch evil`", '"; touch evil; "', "--help"])
def test_sources_are_no_part_of_the_script(job: Job, value: str) -> None:
    job.install("printf '%s\\n' \"$@\" > arguments")
    code, _ = job.predict(sources=f"{value}\n\nb.cu", arch=value, output=value)
    assert code == 0, job.log
    arguments = (job.workspace / "arguments").read_text(encoding="utf-8")
    assert arguments == (
        f"-I\n-m\nkernelprof\nbaseline\nsave\n--predict\n--arch={value}\n--force\n"
        f"--output={value}\n--\n{value}\nb.cu\n"
    )
    assert not (job.workspace / "evil").exists()


def test_the_example_comments_once_and_then_edits(job: Job) -> None:
    (step,) = [each for each in WORKFLOW["jobs"]["tell"]["steps"] if each.get("name") == "Comment"]
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
