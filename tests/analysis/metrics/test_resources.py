"""The data folders are found from a wheel, from an editable install and from a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import msgspec
import pytest

from kernelprof.errors import MissingToolError
from kernelprof.resources import data_folder

ROOT = Path(__file__).parents[3]
ASK = (
    "import sys, site; sys.path.insert(0, sys.argv[1]); site.addsitedir(sys.argv[1]);"
    "from kernelprof.analysis.metrics.catalogue import load_metrics, presets;"
    "from kernelprof.resources import data_folder;"
    "from kernelprof.ladder.registry import find_ladder;"
    "print(data_folder('metric_presets'), len(presets()), len(load_metrics()));"
    "print(data_folder('cuda'), len(find_ladder().rungs))"
)


def _wheel(into: Path) -> Path:
    """The contents of the wheel, as an installer lays them out."""
    hook = f"from hatchling.build import build_wheel as build; print(build({str(into)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", hook], cwd=ROOT, capture_output=True, text=True, check=True
    )
    site = into / "site"
    with zipfile.ZipFile(into / done.stdout.split()[-1]) as wheel:
        wheel.extractall(site)
    return site


def _editable(into: Path) -> Path:
    """An editable install by hatchling: a path, and copies of the data that grow old."""
    site = into / "site"
    for name in ("metric_presets", "cuda/ladder"):
        stale = site / "kernelprof" / "_data" / name
        stale.mkdir(parents=True)
        (stale / "ladder.toml").write_text("this is not read", encoding="utf-8")
    (site / "_editable_impl_kernelprof.pth").write_text(str(ROOT / "src"), encoding="utf-8")
    return site


def _ask(site: Path, cwd: Path) -> list[str]:
    # Of this environment only the dependencies, without what its .pth files add.
    dependencies = str(Path(msgspec.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": dependencies}
    done = subprocess.run(
        [sys.executable, "-S", "-c", ASK, str(site)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.slow("a wheel is built and installed")
def test_from_an_installed_wheel(tmp_path: Path) -> None:
    site = _wheel(tmp_path)
    folder, presets, metrics, cuda, rungs = _ask(site, tmp_path)
    assert Path(folder) == site / "kernelprof" / "_data" / "metric_presets"
    assert {p.name for p in Path(folder).iterdir()} == {
        p.name for p in (ROOT / "metric_presets").iterdir()
    }
    assert int(presets) == len(list((ROOT / "metric_presets").glob("*.toml")))
    assert int(metrics) > 100
    assert Path(cuda) == site / "kernelprof" / "_data" / "cuda"
    ladder = (ROOT / "cuda" / "ladder").rglob("*.*")
    files = [path for path in ladder if path.suffix != ".pyc"]
    kernels = {path.relative_to(ROOT / "cuda") for path in files}
    assert {path.relative_to(cuda) for path in Path(cuda).rglob("*.*")} == kernels
    assert int(rungs) == len(list((ROOT / "cuda" / "ladder").glob("*.cu")))


def test_from_an_editable_install(tmp_path: Path) -> None:
    folder, presets, _, cuda, rungs = _ask(_editable(tmp_path), tmp_path)
    assert Path(folder) == ROOT / "metric_presets"
    assert int(presets) == len(list((ROOT / "metric_presets").glob("*.toml")))
    assert Path(cuda) == ROOT / "cuda"
    assert int(rungs) == len(list((ROOT / "cuda" / "ladder").glob("*.cu")))


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(
        MissingToolError,
        match="the data folder 'no_such_folder' is missing from this installation of kernelprof",
    ):
        data_folder("no_such_folder")
