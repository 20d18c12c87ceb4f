"""A repository with a pull request that tries to be believed, and to have its code executed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

BASELINE = "performance/gemm.baseline.json"
POLICY = "performance/gate.toml"
ALLOW_ALL = """\
max_slowdown = "5000 %"
inconclusive = "allow"
vanished = "allow"
new_bottleneck = "allow"
left_limit = "allow"
counter_worse = "allow"
ignore = ["sgemm*"]
"""
STRICT = 'max_slowdown = "2 %"\n'
PROJECT = """\
[build-system]
requires = ["evil"]
build-backend = "sitecustomize"
backend-path = ["."]

[tool.kernelprof.gate]
ignore = ["*"]
inconclusive = "allow"

[tool.uv]
index-url = "file:///nowhere"

[tool.uv.pip]
no-verify-hashes = true
"""
MODULES = (
    "venv", "pip", "ensurepip", "kernelprof", "sitecustomize", "usercustomize", "numpy", "typer",
    "runpy", "hatchling", "json", "encodings",
)  # fmt: skip


class Hostile:
    """``folder/origin`` has the base branch and ``refs/pull/7/merge``; ``marks``, what ran."""

    def __init__(self, folder: Path, baseline: dict[str, Any]) -> None:
        self.origin, self.marks = folder / "origin", folder / "marks"
        self.origin.mkdir()
        self.marks.mkdir()
        self.git("init", "-q", "-b", "main")
        self.write(BASELINE, json.dumps(baseline))
        self.write(POLICY, STRICT)
        self.write("kernels/gemm.cu", "// a kernel\n")
        self.commit("base")

    def git(self, *arguments: str) -> str:
        """Run git in the origin."""
        who = ("-c", "user.name=Eve", "-c", "user.email=eve@example.org")
        done = subprocess.run(
            ["git", *who, "-C", str(self.origin), *arguments],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        """Write a file of the work tree."""
        place = self.origin / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def commit(self, message: str) -> None:
        """Commit the work tree as it is."""
        self.git("add", "--all", "--force")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def propose(self) -> None:
        """Merge what is in the work tree as pull request 7, as GitHub would."""
        self.git("checkout", "-q", "-b", "pull")
        self.commit("a change")
        self.git("checkout", "-q", "--detach", "main")
        self.git("merge", "-q", "--no-ff", "-m", "merge", "pull")
        self.git("update-ref", "refs/pull/7/merge", "HEAD")
        self.git("checkout", "-q", "main")

    def attack(self) -> None:
        """Everything that a checkout can hold to be executed or believed."""
        slow = json.loads((self.origin / BASELINE).read_text(encoding="utf-8"))
        for kernel in slow["kernels"]:
            for name in ("events_ns", "profiled_ns"):
                kernel[name] = [10 * each for each in kernel[name]]
            kernel["median_ns"] *= 10
        self.write(BASELINE, json.dumps(slow))
        self.write(POLICY, ALLOW_ALL)
        self.write("pyproject.toml", PROJECT)
        for name in MODULES:
            self.write(f"{name}.py", self.module(name))
        self.write("evil.pth", f"import pathlib; pathlib.Path({str(self.marks / 'pth')!r}).touch()")
        self.write("pip.conf", "[global]\nindex-url = file:///nowhere\nno-index = true\n")
        self.write(".env", f"PYTHONPATH={self.origin}\n")
        self.write("uv.toml", 'index-url = "file:///nowhere"\n')
        self.write(".python-version", "2.7\n")
        for name in ("python", "python3", "pip", "kernelprof", "git", "bin/python"):
            program = f"{name}-program"
            self.write(f"bin/{program}" if "/" in name else name, self.script(program))
        self.write(".gitattributes", "*.json diff=evil filter=evil\n*.toml diff=evil filter=evil\n")

    def module(self, name: str) -> str:
        """A module that leaves a mark, and then is the one that it stands before."""
        return (
            "import sys, os\n"
            f"open({str(self.marks / name)!r}, 'w').close()\n"
            "here = os.path.dirname(os.path.abspath(__file__))\n"
            "sys.path[:] = [each for each in sys.path if os.path.abspath(each or '.') != here]\n"
            "if __name__ == '__main__':\n"
            "    sys.modules.pop('runpy', None)\n"
            "    import runpy\n"
            f"    runpy.run_module({name!r}, run_name='__main__', alter_sys=True)\n"
        )

    def script(self, name: str) -> str:
        """A program that leaves a mark."""
        return f"#!/bin/sh\ntouch '{self.marks / name}'\n"

    def poison(self, checkout: Path) -> None:
        """What an earlier step of a job could have left in the configuration of its checkout."""
        touch = f"touch '{self.marks}/%s'; cat"
        for name in ("core.fsmonitor", "diff.evil.textconv", "filter.evil.smudge", "core.pager"):
            setting = touch % name
            subprocess.run(["git", "-C", str(checkout), "config", name, setting], check=True)
        for name in ("post-checkout", "reference-transaction", "pre-auto-gc"):
            hook = checkout / ".git" / "hooks" / name
            hook.write_text(self.script(f"hook-{name}"), encoding="utf-8")
            hook.chmod(0o755)

    @property
    def executed(self) -> list[str]:
        """What left a mark."""
        return sorted(path.name for path in self.marks.iterdir())


def quick_python(folder: Path, source: Path) -> Path:
    """The real interpreter, but that pip installs nothing and ``kernelprof`` is that of ``source``.

    Its path for imports is as it was asked for, so that a module in the way is still found.
    """
    program = folder / "quick-python"
    run = (
        "import sys; sys.path.insert(int(sys.path[0] == ''), {!r}); "
        "import runpy; runpy.run_module({!r}, run_name='__main__')"
    )
    program.write_text(
        f"""#!/bin/bash
real={sys.executable}
flags=()
while [ "${{1:-}}" != -m ] && [ $# -gt 0 ]; do flags+=("$1"); shift; done
case "${{2:-}}" in
  venv)
    "$real" "${{flags[@]}}" -m venv --without-pip "${{@:3}}" || exit
    rm -f "${{@: -1}}"/bin/python
    cp "$0" "${{@: -1}}/bin/python"
    printf '#!/bin/sh\\nexec "%s" -P -m kernelprof "$@"\\n' "${{@: -1}}/bin/python" \\
        > "${{@: -1}}/bin/kernelprof"
    chmod +x "${{@: -1}}/bin/kernelprof" ;;
  pip) exec "$real" "${{flags[@]}}" -m pip --version ;;
  kernelprof)
    shift 2
    exec "$real" "${{flags[@]}}" -c "{run.format(str(source), "kernelprof")}" "$@" ;;
  *) exec "$real" "${{flags[@]}}" "$@" ;;
esac
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program
