"""How many kernels of other people can be predicted: ``python -m benchmarks.predict.others DIR``.

``DIR`` holds checkouts of the repositories in ``repositories.toml``, at the commits there, each in
a folder of its name; nothing is fetched. Sources and specifications are put together in a temporary
folder, and each kernel is predicted in a process of its own. A table in Markdown goes to standard
output; ``make predict-others CHECKOUTS=DIR`` keeps it in ``reports/predict-others.md``.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.predict.others.kernels import choose
from benchmarks.speed import timing

from benchmarks import command
from kernelprof.prediction.architectures import DEFAULT_ARCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.predict.others.kernels import Kernel

PROGRAM: Final = "benchmarks.predict.others"
_HEAD: Final = (
    "| kernel | source | runs | right | s | MB | blocks run | stopped by |\n"
    "| --- | --- | --- | --- | --: | --: | --: | --- |"
)
_TITLE: Final = "# Kernels of other people, predicted from their source"
_LONGEST: Final = 160


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; an error is told in a sentence and gives its exit code."""
    options = _parser().parse_args(arguments)
    return command.run(PROGRAM, lambda: _run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description="Predict kernels of other people: which run, and whose results are right.",
    )
    parser.add_argument(
        "checkouts",
        type=Path,
        metavar="DIR",
        help="what holds llm.c, cuda-samples and HeCBench",
    )
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="only these, by their folder")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help=f"default: {DEFAULT_ARCH}")
    parser.add_argument(
        "--seconds", type=int, default=120, help="CPU time of a kernel (default: 120)"
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for kernel in choose(options.kernels):
            source = kernel.lay_out(options.checkouts, Path(folder))
            found.append((kernel, outcome(source, options.arch, options.seconds)))
            sys.stderr.write(f"{row(*found[-1])}\n")
    sys.stdout.write(document(found, options.arch))
    return 0


def outcome(source: Path, arch: str, seconds: int) -> dict[str, Any]:
    """What comes of a source that was laid out, as :mod:`benchmarks.predict.others.one` says it.

    ``seconds`` are from its start to its answer, ``megabytes`` of all its processes together.
    """
    program = (sys.executable, "-m", f"{PROGRAM}.one", str(source), arch, str(seconds))
    with tempfile.TemporaryDirectory() as folder:
        ran, printed = timing.run(program, Path(folder))
    if ran.exit_code == -signal.SIGXCPU:
        return {"stage": "running", "what": f"not done after {seconds} s of CPU time"}
    if ran.exit_code != 0:
        return {"stage": "running", "what": f"it crashed: {printed.errors.strip()[-_LONGEST:]}"}
    answer: dict[str, Any] = json.loads(printed.out)
    return answer | {"seconds": ran.process_s, "megabytes": ran.peak_bytes / 2**20}


def document(found: Sequence[tuple[Kernel, Mapping[str, Any]]], arch: str) -> str:
    """All outcomes, those that run first, with how many there are and where they come from."""
    every = sorted(found, key=lambda pair: (not _right(pair[1]), pair[0].name))
    right = sum(_right(each) for _, each in every)
    told = [kernel for kernel, each in every if kernel.mistake and _is_told(each)]
    origins = {kernel.repository.name: kernel.repository.commit for kernel, _ in every}
    sentences = [
        f"Of {len(every)} kernels {right} run for `{arch}` and give what their reference does.",
    ]
    if told:
        sentences.append(f"In {len(told)} more a mistake of the kernel's own is found (below).")
    return "\n".join(
        (
            *(_TITLE, "", " ".join(sentences), ""),
            *(f"- {name} at `{commit}`" for name, commit in sorted(origins.items())),
            *("", _HEAD, *(row(kernel, each) for kernel, each in every), ""),
            *(f"- **{kernel.name}**: {kernel.mistake}" for kernel in told),
            *([""] if told else []),
        )
    )


def row(kernel: Kernel, found: Mapping[str, Any]) -> str:
    """One line of the table."""
    stopped = " ".join(str(found.get("what", "")).split()).replace("|", r"\|")
    stopped = re.sub(r"/\S*/", "", stopped)[:_LONGEST]
    blocks = f"{found['blocks_run']} of {found['blocks']}" if "blocks" in found else ""
    cells = (
        kernel.name,
        f"{kernel.repository.name.rpartition('/')[2]}: {kernel.folder}/{kernel.source}",
        "yes" if _ran(found) else "no",
        _rightness(found),
        f"{found['seconds']:.1f}" if "seconds" in found else "",
        f"{found['megabytes']:.0f}" if "megabytes" in found else "",
        blocks,
        stopped,
    )
    return f"| {' | '.join(cells)} |"


def _is_told(found: Mapping[str, Any]) -> bool:
    """Whether a kernel is said to be wrong."""
    return found.get("error") in {"LaunchError", "WrongResultError"}


def _ran(found: Mapping[str, Any]) -> bool:
    """Whether its check came to an end."""
    return found["stage"] in {"counting", "done"} or _is_told(found)


def _right(found: Mapping[str, Any]) -> bool:
    return bool(found["stage"] == "done" and found["outputs"])


def _rightness(found: Mapping[str, Any]) -> str:
    if not _ran(found):
        return ""
    if _is_told(found):
        return "no"
    return "yes" if found.get("outputs", 1) else "not checked"


if __name__ == "__main__":
    sys.exit(main())
