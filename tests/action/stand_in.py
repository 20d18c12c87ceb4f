"""A stand-in for a runner of GitHub: it runs the steps of an action and of a workflow's job.

Scripts run as GitHub runs them. Of the actions of others it knows what ours and the examples use:
``checkout`` is git itself, ``setup-python`` names an interpreter, artifacts are copied.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
ACTION = YAML(typ="safe").load(ROOT / "action.yml")
WORKFLOW = YAML(typ="safe").load(ROOT / "examples" / "github" / "gate.yml")
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
PREDICT = YAML(typ="safe").load(ROOT / "action" / "predict" / "action.yml")
PREDICT_STEPS = {step["name"]: step for step in PREDICT["runs"]["steps"]}
TOKEN = "a-token-that-no-file-may-hold"

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_TOKENS = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||==|!=|!|\(|\)|[\w.*-]+)")


_PYTHON = {"&&": " and ", "||": " or ", "!": " not "}


def evaluate(text: str, context: dict[str, str], workspace: Path, *, failed: bool) -> Any:
    """An expression of a workflow, by Python, where the same operand decides."""
    calls = {
        "always": lambda: True,
        "success": lambda: not failed,
        "failure": lambda: failed,
        "cancelled": lambda: False,
        "hashFiles": lambda name="": "0123" if name and (workspace / name).is_file() else "",
    }

    def translated(found: re.Match[str]) -> str:
        token = found[1]
        if token.startswith("'"):
            return repr(token[1:-1].replace("''", "'"))
        if re.match(r"\w", token):
            return f"calls[{token!r}]" if token in calls else repr(context.get(token, ""))
        return _PYTHON.get(token, token)

    assert not _TOKENS.sub("", text).strip(), text
    return eval(_TOKENS.sub(translated, text), {"calls": calls})  # noqa: S307 (of our own files)


@dataclass
class Runner:
    """A job's folders and files, as the runner gives them to each step."""

    folder: Path
    environment: dict[str, str]
    context: dict[str, str] = field(default_factory=dict)
    origin: Path | None = None
    """The repository that ``checkout`` takes ``refs/pull/7/merge`` of."""
    python: str = sys.executable
    artifacts: Path | None = None
    action: Path = ROOT
    log: str = ""
    """What the steps wrote."""

    def __post_init__(self) -> None:
        for name in ("workspace", "temp"):
            (self.folder / name).mkdir(exist_ok=True)
        self.summary.touch()
        self.context = {
            "runner.temp": str(self.temp),
            "github.workspace": str(self.workspace),
            "github.action_path": str(self.action),
            "github.token": TOKEN,
            "github.event_name": "push",
            "github.repository": "me/it",
            "github.run_id": "4711",
            "github.run_attempt": "1",
            **self.context,
        }

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def temp(self) -> Path:
        return self.folder / "temp"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.md"

    def evaluated(self, text: Any, context: dict[str, str], *, failed: bool = False) -> str:
        """A value with its expressions filled in."""

        def filled(found: re.Match[str]) -> str:
            value = evaluate(found[1], context, self.workspace, failed=failed)
            return str(value).lower() if isinstance(value, bool) else str(value)

        return _EXPRESSION.sub(filled, str(text).lower() if isinstance(text, bool) else str(text))

    def job(self, name: str, workflow: Any = WORKFLOW, **context: str) -> int:
        """Run the steps of a job of the workflow; 0, or the first exit code that is not."""
        return self.steps(workflow["jobs"][name]["steps"], {**self.context, **context})

    def act(self, action: Any = ACTION, **inputs: str) -> tuple[int, dict[str, str]]:
        """Run a whole action of ours: its exit code and its outputs."""
        defaults = {name: each.get("default", "") for name, each in action["inputs"].items()}
        given = {**defaults, **{name.replace("_", "-"): text for name, text in inputs.items()}}
        place = self.action if action is ACTION else self.action / "action" / "predict"
        context = {
            **self.context,
            "github.action_path": str(place),
            **{f"inputs.{name}": text for name, text in given.items()},
        }
        code = self.steps(action["runs"]["steps"], context)
        outputs = {
            name: self.evaluated(each["value"], context) for name, each in action["outputs"].items()
        }
        return code, {name: text for name, text in outputs.items() if text}

    def steps(self, steps: list[Any], context: dict[str, str]) -> int:
        """Run steps; their outputs come into the context."""
        first = 0
        for step in steps:
            condition = str(step.get("if", "success()"))
            condition = condition.removeprefix("${{").removesuffix("}}").strip()
            if "(" not in condition.replace("hashFiles(", ""):
                condition = f"success() && ({condition})"
            failed = first != 0
            if not evaluate(condition, context, self.workspace, failed=failed):
                continue
            code, outputs = self._step(step, context)
            if name := step.get("id"):
                context.update(
                    {f"steps.{name}.outputs.{key}": text for key, text in outputs.items()}
                )
            first = first or code
        return first

    def _step(self, step: Any, context: dict[str, str]) -> tuple[int, dict[str, str]]:
        if "run" in step:
            return self.run(step, context)
        given = {name: self.evaluated(text, context) for name, text in step.get("with", {}).items()}
        action = step["uses"].partition("@")[0]
        match action:
            case "actions/setup-python":
                return 0, {"python-path": self.python}
            case "actions/checkout":
                self._check_out(given)
            case "actions/download-artifact":
                assert self.artifacts is not None
                shutil.copytree(self.artifacts / given["name"], self.workspace / given["path"])
            case "actions/upload-artifact":
                assert self.artifacts is not None
                place = self.artifacts / given["name"]
                place.mkdir(parents=True)
                for pattern in given["path"].split():
                    for found in self.workspace.glob(pattern):
                        shutil.copy(found, place / found.name)
            case "OWNER/kernelprof":
                return self.act(**given)
            case "OWNER/kernelprof/action/predict":
                return self.act(PREDICT, **given)
            case _:
                assert action == "github/codeql-action/upload-sarif", action
        return 0, {}

    def _check_out(self, given: dict[str, str]) -> None:
        assert self.origin is not None
        place = self.workspace / given.get("path", ".")
        place.mkdir(parents=True, exist_ok=True)
        depth = f"--depth={given.get('fetch-depth', '1')}"
        url = f"file://{self.origin}"
        for arguments in (
            ["init", "-q"],
            ["fetch", "-q", depth, url, "refs/pull/7/merge"],
            ["checkout", "-q", "--detach", "FETCH_HEAD"],
        ):
            subprocess.run(["git", "-C", str(place), *arguments], check=True, env=self.environment)
        if given.get("persist-credentials") != "false":
            secret = ["config", "http.extraheader", f"AUTHORIZATION: basic {TOKEN}"]
            subprocess.run(["git", "-C", str(place), *secret], check=True)

    def run(self, step: Any, context: dict[str, str]) -> tuple[int, dict[str, str]]:
        """Run one script with its expressions filled in: its exit code and its outputs."""
        given = {
            key: self.evaluated(value, context) for key, value in (step.get("env") or {}).items()
        }
        script, output = self.folder / "script.sh", self.folder / "output"
        script.write_text(step["run"], encoding="utf-8")
        output.write_text("", encoding="utf-8")
        assert step.get("shell", "bash") == "bash"
        where = self.evaluated(step.get("working-directory", self.workspace), context)
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            env={
                **self.environment,
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "GITHUB_WORKSPACE": str(self.workspace),
                "RUNNER_TEMP": str(self.temp),
                **given,
            },
            cwd=where,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=240,
            check=False,
        )
        self.log += done.stdout + done.stderr
        return done.returncode, outputs_of(output.read_text(encoding="utf-8"))


def outputs_of(text: str) -> dict[str, str]:
    """What a script wrote to ``GITHUB_OUTPUT``."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, _, end = line.partition("<<")
        if not end:
            name, _, value = line.partition("=")
            found[name] = value
            continue
        value_lines = []
        while (inner := next(lines)) != end:
            value_lines.append(inner)
        found[name] = "\n".join(value_lines)
    return found
