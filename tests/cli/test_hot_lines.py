"""Samples by source line, from ``ncu`` through a capture to a report."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest
from tests.support.schemas import manifest_schema

from kernelprof.analysis.metrics.catalogue import SAMPLES
from kernelprof.errors import InputError
from kernelprof.launch.run.prepare import PreparedKernel
from kernelprof.model.manifest import SourceFacts
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.specification.overrides import LaunchOverrides

STAND_IN = Path(__file__).parents[1] / "fake_ncu" / "ncu"
KERNELS = Path(__file__).parents[1] / "kernels"
LINE_19 = 'at <a href="#kernel-1-line-19">line 19</a>: <code>if (i &lt; n) b[i] = a['
NOT_TAKEN = "This capture has no samples by source line"


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def _manifest(folder: Path) -> dict:
    found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(json.loads(manifest_schema())).validate(found)
    return found


def _asked(run: dict) -> list[str]:
    return run["command"][run["command"].index("--metrics") + 1].split(",")


@pytest.fixture
def fixture(machine: Path) -> Path:
    """A program whose source page is known."""
    return Path(shutil.copy(machine / "gemm_series", machine / "fixture"))


class Preparing:
    """Stands in for building and launching, which need a GPU."""

    command = ("./fixture",)
    kernel = "^strided"

    @contextmanager
    def __call__(
        self,
        source: Path,
        overrides: LaunchOverrides,
        interrupts: Interrupts,
        tell: Callable[[str], None],
        **program: object,
    ) -> Iterator[PreparedKernel]:
        del overrides, interrupts, tell, program
        digest = hashlib.sha256(source.read_bytes()).hexdigest()
        facts = SourceFacts(str(source), digest)
        yield PreparedKernel(str(source), self.command, self.kernel, source=facts)


@pytest.fixture
def source(machine: Path, fixture: Path, gpu: None, monkeypatch: pytest.MonkeyPatch) -> Preparing:
    """``fixture.cu``, the source of that program, on a machine with a GPU."""
    del fixture, gpu
    shutil.copy(KERNELS / "fixture.cu", machine / "fixture.cu")
    preparing = Preparing()
    monkeypatch.setattr("kernelprof.collect.run.prepare_kernel", preparing)
    here = f"sed 's#/project/tests/kernels#{machine}#'"
    page = f'{sys.executable} {STAND_IN} "$@" | {here}; exit'
    _ncu(f'case "$*" in *--page\\ source*) {page} ;; esac', monkeypatch)
    return preparing


def _ncu(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in that does something else before the usual."""
    script = Path.cwd().parent / "other-ncu"
    text = f'#!/bin/sh\n{before}\nexec {sys.executable} {STAND_IN} "$@"\n'
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("KERNELPROF_NCU", str(script))


@pytest.mark.usefixtures("fixture")
def test_the_preset_full_brings_the_samples(machine, kernelprof) -> None:
    assert "samples" not in kernelprof("profile -o out -- ./fixture").err
    folder = machine / "out"
    assert _names(folder) == [
        *("capture.ncu-rep", "code.json.gz", "lines.csv.gz", "manifest.json", "raw.csv.gz")
    ]
    (run,) = _manifest(folder)["runs"]
    assert _asked(run)[-1] == SAMPLES
    assert run["command"][run["command"].index("--section") + 1] == "SourceCounters"
    assert not [name for name in (*run["metrics"], *run["unavailable"]) if "pcsamp" in name]
    packed = (folder / "lines.csv.gz").read_bytes()
    assert run["lines"] == "lines.csv.gz"
    assert run["lines_sha256"] == hashlib.sha256(packed).hexdigest()
    rows = gzip.decompress(packed).decode().splitlines()
    assert len(rows) == 15
    assert rows[1:3] == [
        '/project/tests/kernels/fixture.cu,"scale(float *, float, int)",13,20',
        '/project/tests/kernels/fixture.cu,"scale(float *, float, int)",14,81',
    ]
    capture = read_capture(folder)
    assert len(capture) == 3
    assert [each.samples for each in capture.code] == [1317, 3867, 4971]
    assert run["code_sha256"] == hashlib.sha256((folder / "code.json.gz").read_bytes()).hexdigest()
    (folder / "code.json.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"code\.json\.gz does not match its hash"):
        read_capture(folder)


def test_the_counters_of_the_samples_are_in_the_capture_and_nobody_complains(
    kernelprof, machine
) -> None:
    kernelprof("profile -o out -- ./gemm_series")
    capture = read_capture("out")
    stalled = [name for name in capture.columns if name.startswith("smsp__pcsamp_warps_issue_")]
    assert len(stalled) == 19
    assert capture.warnings == ()
    (run,) = _manifest(machine / "out")["runs"]
    assert (run["lines"], run["lines_sha256"], run["warnings"]) == (None, None, [])


@pytest.mark.usefixtures("fixture")
def test_another_preset_does_not(kernelprof, machine) -> None:
    kernelprof("profile -o out --preset triage -- ./fixture")
    (run,) = _manifest(machine / "out")["runs"]
    assert SAMPLES not in _asked(run)
    assert run["lines"] is None
    assert _names(machine / "out") == ["capture.ncu-rep", "manifest.json", "raw.csv.gz"]


@pytest.mark.usefixtures("fixture")
def test_a_failed_export_is_a_warning_and_not_the_loss_of_the_capture(
    kernelprof, machine, monkeypatch
) -> None:
    _ncu('case "$*" in *--page\\ source*) echo "==ERROR== no"; exit 1 ;; esac', monkeypatch)
    sentence = "Samples per source line are missing: ncu ended with exit code 1: ==ERROR== no."
    kernelprof("profile -o out -- ./fixture", err=sentence)
    (run,) = _manifest(machine / "out")["runs"]
    assert (run["lines"], run["warnings"]) == (None, [sentence])
    assert read_capture("out").warnings == (sentence,)
    assert _names(machine / "out") == ["capture.ncu-rep", "manifest.json", "raw.csv.gz"]


@pytest.mark.usefixtures("source")
def test_a_report_marks_the_lines_of_the_source(kernelprof, machine) -> None:
    kernelprof("profile fixture.cu -o out")
    rows = gzip.decompress((machine / "out" / "lines.csv.gz").read_bytes()).decode().splitlines()
    assert rows[1] == 'fixture.cu,"strided(const float *, float *, int, int)",17,21'
    (machine / "fixture.cu").unlink()
    (machine / "out").rename(machine / "moved")
    kernelprof("report moved -o page.html")
    text = (machine / "page.html").read_text(encoding="utf-8")
    assert f"90 % of the samples are {LINE_19}" in text
    assert NOT_TAKEN not in text
    kernelprof("diagnose moved --html again.html", code={0, 3})
    assert f"90 % of the samples are {LINE_19}" in (machine / "again.html").read_text("utf-8")
    (machine / "moved" / "lines.csv.gz").write_bytes(b"")
    kernelprof(
        "report moved -o page.html",
        code=2,
        err="lines.csv.gz does not match its hash in the manifest",
    )


@pytest.mark.usefixtures("source")
def test_a_diagnosis_with_a_page_samples_in_its_first_run(kernelprof, machine) -> None:
    kernelprof("diagnose fixture.cu --keep out --html page.html", code={0, 3})
    first, *others = _manifest(machine / "out")["runs"]
    assert SAMPLES in _asked(first)
    assert first["why"] == "preset triage: Triage"
    assert not [run for run in others if SAMPLES in _asked(run) or run["lines"] is not None]
    assert first["lines"] == "lines.csv.gz"
    assert LINE_19 in (machine / "page.html").read_text(encoding="utf-8")
    shutil.rmtree(machine / "out")
    kernelprof("diagnose fixture.cu --html page.html", code={0, 3})
    assert LINE_19 in (machine / "page.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("source")
def test_a_diagnosis_says_what_warps_wait_for_as_its_capture_does(kernelprof) -> None:
    (now,) = kernelprof.json("diagnose fixture.cu --keep out", code={0, 3})["kernels"]
    later = kernelprof.json("diagnose out", code={0, 3})["kernels"]
    assert (now["waiting"], now["place"]) == (later[0]["waiting"], later[0]["place"])
    assert now["waiting"]["samples"] in {each.samples for each in read_capture("out").code}


@pytest.mark.parametrize(
    ("options", "sampled"),
    [
        ([], True),
        (["--preset", "triage", "--html", "page.html"], False),
        (["--preset", "full"], True),
    ],
)
@pytest.mark.usefixtures("source")
@pytest.mark.slow("several runs")
def test_a_first_run_of_a_source_samples_and_no_other_preset(
    kernelprof, machine, options, sampled
) -> None:
    kernelprof("diagnose fixture.cu --keep out", *options, code={0, 3})
    runs = _manifest(machine / "out")["runs"]
    assert [SAMPLES in _asked(run) for run in runs] == [sampled] * len(runs)
    if "--html" in options:
        assert NOT_TAKEN in (machine / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow("several runs")
def test_a_follow_up_does_not_sample(kernelprof, machine, source) -> None:
    shutil.copy(machine / "gemm_series", machine / "validation")
    source.command, source.kernel = ("./validation",), "scan_warps|stencil7"
    command = "diagnose fixture.cu --keep out --html page.html"
    kernelprof(command, code={0, 3})
    assert [SAMPLES in _asked(run) for run in _manifest(machine / "out")["runs"]] == [True, False]
