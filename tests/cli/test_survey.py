"""``diagnose -- APP`` on a machine with a GPU: surveyed first, then measured in part."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema
import numpy as np
import pytest
from msgspec import structs
from tests.support.schemas import manifest_schema

from kernelprof.collect.environment import LocalGpu, LocalMachine
from kernelprof.collect.failures import ProfilerError
from kernelprof.collect.jax_settings import COMPILED
from kernelprof.collect.run import Session
from kernelprof.collect.survey.run import SurveyRun
from kernelprof.errors import InputError, MissingToolError, UsageError
from kernelprof.interface import captures as interface
from kernelprof.model.kernel_name import function_name
from kernelprof.model.survey import Replay
from kernelprof.model.trace import ALLOCATIONS, KERNELS, Configuration, Process, Trace, TracedGpu
from kernelprof.report.render import render_result

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.capture import Capture
    from kernelprof.results import Diagnosis

GPU = LocalGpu(0, "NVIDIA H200", (9, 0))


@pytest.fixture(autouse=True)
def _gpu(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.is_dir()
    here = LocalMachine(driver="580.0", cuda="13.0", gpus=(GPU,))
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", lambda: here)


def _all_launches() -> Diagnosis:
    return interface.diagnose(program=["./gemm_series"], budget=None)


def _trace_of(found: Diagnosis) -> Trace:
    """A program that launches each kernel of a capture 20 times, one after the other."""
    kinds = dict.fromkeys((each.name, each.grid, each.block) for each in found.kernels)
    configurations = [
        Configuration(name, function_name(name), grid or (1, 1, 1), block or (1, 1, 1))
        for name, grid, block in kinds
    ]
    rows = np.zeros(20 * len(configurations), KERNELS)
    rows["configuration"] = np.arange(len(rows)) % len(configurations)
    rows["start"] = 1_000_000 + 100_000 * np.arange(len(rows))
    rows["end"] = rows["start"] + 90_000
    rows["stream"] = 7
    last = int(rows["end"][-1])
    return Trace(
        processes=(Process(1, 0, ("./gemm_series",), 1_000_000, last, complete=True),),
        devices={0: TracedGpu("NVIDIA H200", (9, 0), 132, 1 << 37)},
        configurations=tuple(configurations),
        texts=("",),
        kernels=rows,
    )


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> Diagnosis:
    """A program that can be surveyed; gives what measuring all of it says."""
    whole = _all_launches()
    trace = _trace_of(whole)
    monkeypatch.setattr(
        "kernelprof.collect.survey.measure.record_program", lambda *_, **__: SurveyRun(trace, 1.0)
    )
    return whole


def test_what_was_chosen_is_measured_and_shares_are_those_of_the_program(
    surveyed: Diagnosis,
) -> None:
    whole = surveyed
    found = interface.diagnose(program=["./gemm_series"])
    survey = found.survey
    assert survey is not None
    assert survey.answer is not None
    assert survey.answer.limit == "kernels"
    assert survey.coverage is not None
    for kernel in found.kernels:
        assert kernel.surveyed is not None
        assert kernel.surveyed.launches == 20
    assert sum(each.share or 0 for each in found.kernels) == pytest.approx(1)
    answers = sorted(str((each.name, each.verdict.answer)) for each in found.kernels)
    assert answers == sorted(str((each.name, each.verdict.answer)) for each in whole.kernels)
    text = render_result(found, "text")
    assert "GPU busy 90 % of the time" in text
    document = json.loads(render_result([found], "json"))
    told = document["captures"][0]["survey"]
    assert told["answer"]["limit"] == "kernels"
    assert sum(each["measured"] for each in told["kernels"]) == told["coverage"]["launches"]
    assert document["kernels"][0]["surveyed"]["launches"] == 20


@pytest.mark.usefixtures("surveyed")
def test_a_capture_that_is_kept_has_the_survey(machine: Path) -> None:
    now = interface.diagnose(program=["./gemm_series"], keep="out")
    later = interface.diagnose("out")
    assert now.survey is not None
    assert later.survey is not None
    assert later.kernels == now.kernels
    assert now.survey.coverage is not None
    assert later.survey.coverage is not None
    seconds = structs.replace(later.survey.coverage, seconds=now.survey.coverage.seconds)
    assert structs.replace(later.survey, coverage=seconds) == now.survey
    assert "GPU busy 90 % of the time" in render_result(later, "text")
    manifest = json.loads((machine / "out" / "manifest.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(json.loads(manifest_schema())).validate(manifest)
    assert manifest["survey"] == "survey.json.gz"
    (machine / "out" / "survey.json.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"survey\.json\.gz does not match its hash"):
        interface.diagnose("out")


def test_all_runs_of_a_program_share_what_jax_compiles(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, given = _trace_of(_all_launches()), set()

    def record(*_: object, variables: dict[str, str], **__: object) -> SurveyRun:
        given.add(variables[COMPILED])
        return SurveyRun(trace, 1.0)

    monkeypatch.setattr("kernelprof.collect.survey.measure.record_program", record)
    (machine / "gemm_series").write_text(f"#!/bin/sh\necho ${COMPILED} >> told\n", "utf-8")
    interface.diagnose(program=["./gemm_series"])
    assert set((machine / "told").read_text("utf-8").split()) == given


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program with more memory than has room twice on its GPU."""
    trace = _trace_of(_all_launches())
    rows = np.zeros(1, ALLOCATIONS)
    rows["bytes"] = 3 << 35
    trace = replace(trace, allocations=rows)
    monkeypatch.setattr(
        "kernelprof.collect.survey.measure.record_program", lambda *_, **__: SurveyRun(trace, 0.1)
    )


@pytest.mark.usefixtures("crowded")
def test_a_program_runs_again_for_each_pass_where_its_memory_has_no_room_twice(
    machine: Path,
) -> None:
    found = interface.diagnose(program=["./gemm_series"], keep="out")
    manifest = json.loads((machine / "out" / "manifest.json").read_text("utf-8"))
    first = manifest["runs"][0]
    assert first["command"][first["command"].index("--replay-mode") + 1] == "application"
    assert any("application replay" in each for each in found.warnings)
    assert {each.verdict.bottleneck for each in found.kernels} > {"shared-bank-conflicts"}


@pytest.mark.usefixtures("crowded")
def test_a_program_that_does_other_things_each_time_has_its_memory_saved(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect = Session.collect
    limits: list[float | None] = []

    def refusing(
        self: Session, *words: Any, replay: Replay = Replay.KERNEL, **options: Any
    ) -> Capture:
        limits.append(self.program_limit if replay is Replay.KERNEL else None)
        if replay is Replay.APPLICATION:
            raise ProfilerError("ncu failed while it profiled a kernel")
        return collect(self, *words, replay=replay, **options)

    monkeypatch.setattr(Session, "collect", refusing)
    found = interface.diagnose(program=["./gemm_series"], keep="out")
    manifest = json.loads((machine / "out" / "manifest.json").read_text("utf-8"))
    assert all("--replay-mode" not in each["command"] for each in manifest["runs"])
    assert not any("application replay" in each for each in found.warnings)
    assert found.survey is not None
    assert found.survey.coverage is not None
    assert found.survey.coverage.estimate > 120
    assert limits == [None, pytest.approx(120, abs=10)]


def test_without_cupti_all_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> SurveyRun:
        raise MissingToolError("CUPTI's library cannot be found")

    monkeypatch.setattr("kernelprof.collect.survey.measure.record_program", nothing)
    found = interface.diagnose(program=["./gemm_series"])
    assert found.survey is None
    assert found.launches == _all_launches().launches


@pytest.mark.slow("one more program")
def test_a_program_without_kernels_is_measured_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = interface.diagnose(program=["./gemm_series"])
    assert found.survey is None
    assert found.launches == _all_launches().launches


@pytest.mark.usefixtures("surveyed")
def test_a_budget_of_nothing_is_the_survey_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelprof.collect.run.measure_request", pytest.fail)
    file = tmp_path / "trace.json.gz"
    found = interface.diagnose(program=["./gemm_series"], budget=0, perfetto=file)
    assert found.kernels == ()
    assert found.warnings == ()
    assert found.survey is not None
    assert found.survey.answer is not None
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    assert sum(each.get("tid") == 7 for each in events) == 20 * len(found.survey.kernels)
    kept = interface.diagnose(program=["./gemm_series"], budget=0, keep=tmp_path / "out")
    assert kept.warnings == (f"Nothing was written to {tmp_path / 'out'}.",)
    monkeypatch.setattr("kernelprof.collect.survey.measure.record_program", pytest.fail)
    with pytest.raises(InputError, match="the trace cannot be written: No such file"):
        interface.diagnose(program=["./gemm_series"], budget=0, perfetto=tmp_path / "no" / "a.json")


@pytest.mark.usefixtures("surveyed")
def test_a_run_without_a_survey_has_no_trace(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    with pytest.raises(UsageError, match="--perfetto writes the trace of a survey, but this run"):
        interface.diagnose(program=["./gemm_series"], launch_count=2, perfetto=file)


@pytest.mark.usefixtures("surveyed")
def test_without_ncu_there_is_the_survey(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise MissingToolError("ncu (Nsight Compute) cannot be found")

    monkeypatch.setattr("kernelprof.collect.request.find_ncu", missing)
    found = interface.diagnose(program=["./gemm_series"])
    assert found.survey is not None
    assert found.warnings == ("Nothing was measured: ncu (Nsight Compute) cannot be found.",)
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", LocalMachine)
    with pytest.raises(MissingToolError, match="cannot be found"):
        interface.diagnose(program=["./gemm_series"])
