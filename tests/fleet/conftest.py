"""Plans over captures and kernels that were recorded, and stores to put them in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernelprof.fleet.store import Store

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "src" / "kernelprof" / "recorded" / "h200"

WritePlan = Callable[[str], Path]


@pytest.fixture
def write_plan(tmp_path: Path) -> WritePlan:
    """Writes a plan with these entries; its store is the folder ``store`` beside it."""

    def write(entries: str) -> Path:
        path = tmp_path / "plan.toml"
        head = 'schema_version = "1"\nname = "nightly"\nstore = "store"\n'
        path.write_text(head + entries, encoding="utf-8")
        return path

    return write


@pytest.fixture
def some_captures(tmp_path: Path) -> str:
    """An entry of a plan with six recorded captures."""
    folder = tmp_path / "captures"
    folder.mkdir()
    for each in sorted(RECORDED.iterdir())[:6]:
        copy = folder / each.name
        copy.mkdir()
        for file in each.iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
    return '[[captures]]\nfolder = "captures"\n'


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store in a folder."""
    return Store.at(str(tmp_path / "store"))
