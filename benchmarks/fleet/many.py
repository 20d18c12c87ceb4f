"""Captures by the thousands, diagnosed and stored by one worker and by two."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from kernelprof.collect.recorded import FOLDERS
from kernelprof.fleet.executor import LocalExecutor
from kernelprof.fleet.plan import read_plan
from kernelprof.fleet.results import Done
from kernelprof.fleet.run import run_plan
from kernelprof.fleet.store import FleetStore
from kernelprof.sources.capture_directory import MANIFEST


def diagnose(count: int) -> dict[str, Any]:
    """Seconds for so many copies of recorded captures, with one worker and with two.

    Each copy has a manifest of its own: what is stored is not diagnosed again.
    """
    folders = [each.parent for folder in FOLDERS for each in sorted(folder.rglob(MANIFEST))]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for at in range(count):
            source = folders[at % len(folders)]
            copy = root / "captures" / str(at // 1000) / str(at)
            shutil.copytree(source, copy)
            manifest = copy / MANIFEST
            manifest.write_text(manifest.read_text(encoding="utf-8") + "\n" * at, encoding="utf-8")
        (root / "plan.toml").write_text(
            'schema_version = "1"\nname = "many"\n[[captures]]\nfolder = "captures"\n',
            encoding="utf-8",
        )
        plan = read_plan(root / "plan.toml")
        seconds = {}
        for workers in (1, 2):
            with LocalExecutor((), workers, 0) as executor:
                store = FleetStore.at(str(root / f"store{workers}"))
                found = run_plan(plan, store, executor)
            assert found.count(Done.DIAGNOSED) == count, found.exit_code
            seconds[workers] = found.seconds
            shutil.rmtree(root / f"store{workers}")
    return {
        "captures": count,
        "one_s": seconds[1],
        "two_s": seconds[2],
        "ratio": seconds[2] / seconds[1],
    }
