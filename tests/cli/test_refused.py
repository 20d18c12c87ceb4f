"""What is refused, and what is said of it: the rows of ``refused.toml``."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.commands import Command

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "tests" / "captures"
CHANGES = CAPTURES / "h200_changes"
PLACES = {
    "captures": CAPTURES,
    "cuda": ROOT / "cuda",
    "tile": CHANGES / "tile" / "1",
    "again": CHANGES / "tile" / "2",
    "rolled": CHANGES / "tile-rolled" / "1",
}
KERNEL = "__global__ void k(float *a) { a[0] = 1; }\n"
SPECIFIED = """// /// kernelprof
// kernel = "{kernel}"
// block = [1]
// grid = [1]
// reference = "none"
// arguments = [{{ name = "a", type = "float32", shape = [4], fill = "{fill}" }}]
// ///
{source}
"""


def rows() -> Iterator[object]:
    """Each command with what its group and its row say of it."""
    groups = tomllib.loads(Path(__file__).with_name("refused.toml").read_text("utf-8"))["group"]
    for group in groups:
        for case in group["cases"]:
            for command in group.get("commands", [""]):
                line = f"{command} {case['run']}".strip()
                yield pytest.param({"fixtures": [], "code": 2, **group, **case}, line, id=line)


@pytest.fixture
def unreadable(tmp_path: Path) -> None:
    """A folder with files that are no captures, baselines or results."""
    newer = '{"kind": "kernelprof-baseline", "schema_version": "2"}'
    for name, text in (("newer.json", newer), ("empty.csv", ""), ("text.json", "{}")):
        (tmp_path / name).write_text(text, "utf-8")


@pytest.fixture
def odd_sources(machine: Path) -> None:
    """A folder with sources that cannot be launched."""
    (machine / "folder.cu").mkdir()
    os.mkfifo(machine / "pipe.cu")
    naive = (ROOT / "cuda" / "ladder" / "01_naive.cu").read_text("utf-8")
    templates = "template <int N> ", "template <class T> "
    sources = {
        "header.cuh": KERNEL.replace("float", "Node"),
        "node.cu": KERNEL.replace("float", "Node"),
        "misspelt.cu": naive.replace("// flops =", "// flop ="),
        "five.cu": naive.replace("int N, int K)", "int N)"),
        "program.cu": f"{KERNEL}int main() {{ k<<<1, 1>>>(0); }}\n",
        "plain.cu": SPECIFIED.format(kernel="k<3>", fill="zeros", source=KERNEL),
        "template.cu": SPECIFIED.format(kernel="k", fill="zeros", source=templates[0] + KERNEL),
        "filled.cu": SPECIFIED.format(kernel="k", fill="no.npy", source=KERNEL),
        "double.cu": SPECIFIED.format(
            kernel="k<double>", fill="zeros", source=templates[1] + KERNEL.replace("float", "T")
        ),
    }
    for name, text in sources.items():
        (machine / name).write_text(text, "utf-8")


@pytest.mark.parametrize(("row", "line"), [*rows()])
def test_it_is_refused_and_nothing_is_written(
    request: pytest.FixtureRequest,
    kernelprof: Command,
    monkeypatch: pytest.MonkeyPatch,
    row: dict[str, Any],
    line: str,
) -> None:
    folder: Path = request.getfixturevalue("tmp_path")
    monkeypatch.chdir(folder)
    prepared = {name: request.getfixturevalue(name) for name in row["fixtures"]}
    before = set(folder.rglob("*"))
    out, err = row.get("out", ""), row.get("says", "")
    kernelprof(line.format(**PLACES), code=row["code"], out=out, err=err)
    assert {each for each in folder.rglob("*") if each.name != "pid"} == before
    if "preparing" in prepared:
        assert prepared["preparing"].heard == []
