"""What real surveys say of whole programs."""

from __future__ import annotations

import pytest
from tests.support.surveys import trace

from kernelprof.analysis.survey.answer import median_launch_ns, survey_program
from kernelprof.analysis.survey.timeline import measure_gpus
from kernelprof.model.survey import Idle, Limit, Owner
from kernelprof.model.trace import Trace


def test_a_solver_keeps_the_gpu_busy() -> None:
    found = survey_program(trace("jacobi"), 0.7)
    assert found.answer is not None
    assert found.answer.limit is Limit.KERNELS
    assert found.answer.sentence == ("GPU busy 97 % of the time: limited by the kernels.")
    assert found.answer.advice == ()
    sweep, difference = found.kernels
    assert (sweep.launches, difference.launches) == (6000, 64)
    assert sweep.name == "sweep(float const*, float*, int)"
    assert sweep.grid == (128, 512, 1)
    assert sweep.share == pytest.approx(0.991, abs=0.001)
    assert sweep.devices == ("NVIDIA H200",)


def test_short_kernels_wait_for_python() -> None:
    found = survey_program(trace("short"), 5.5)
    assert found.answer is not None
    assert found.answer.limit is Limit.LAUNCHES
    assert (
        "launch-bound, kernels wait for the CPU (4,002 launches, median duration 1.89 µs)"
        in found.answer.sentence
    )
    assert any("torch.cuda.graph" in line for line in found.answer.advice)
    assert not any("optimizer" in line for line in found.answer.advice)
    (gpu,) = found.gpus
    assert gpu.busy == pytest.approx(0.128, abs=0.001)
    assert {each.host for each in gpu.idle[:2]} == {Idle.LAUNCHES, Idle.OWN_CODE}
    (operator, _) = [each for each in found.groups if each.kind == "operator"]
    assert (operator.kind, operator.name, operator.launches) == ("operator", "aten::add_", 4001)


def test_a_program_that_crashed_and_one_that_forked() -> None:
    crashed = trace("crash-segv")
    assert [each.complete for each in crashed.processes] == [False]
    assert len(crashed.kernels) == 2000
    forked = survey_program(trace("fork"), 0.7)
    assert forked.processes == 3
    assert [each.launches for each in forked.kernels] == [600]


@pytest.mark.parametrize("name", ["jacobi", "short", "graph", "encoder", "fork", "crash-segv"])
def test_the_parts_of_the_time_are_the_whole(name: str) -> None:
    found = survey_program(trace(name), 1.0)
    for gpu in found.gpus:
        assert gpu.kernels + gpu.copies + gpu.idle_time == gpu.span
        assert 0 <= gpu.after_waiting <= gpu.idle_time
        assert gpu.launches <= sum(each.launches for each in found.kernels)
    assert sum(each.share for each in found.kernels) == pytest.approx(1)
    assert found.kernels == tuple(sorted(found.kernels, key=lambda each: -each.time))


def test_the_median_is_over_launches() -> None:
    found = survey_program(trace("jacobi"), 0.7)
    assert median_launch_ns(found.kernels) == found.kernels[0].median


def test_a_program_without_a_gpu_says_nothing() -> None:
    empty = Trace(processes=(), devices={}, configurations=(), texts=("",))
    found = survey_program(empty, 1.0, ended="it ended with exit code 1")
    assert found.answer is None
    assert found.kernels == ()
    assert measure_gpus(empty) == ()


def test_the_same_short_kernels_in_a_graph_keep_the_gpu_busy() -> None:
    found = survey_program(trace("graph"), 4.6)
    assert found.answer is not None
    assert found.answer.limit is Limit.KERNELS
    assert found.gpus[0].busy > 0.9
    assert found.kernels[0].in_graphs == 4000


def test_training_steps_of_an_encoder_wait_for_python() -> None:
    found = survey_program(trace("encoder"), 9.7)
    assert found.answer is not None
    assert found.answer.limit is Limit.LAUNCHES
    assert "GPU busy 40 % of the time" in found.answer.sentence
    assert any(
        line.startswith("60 % of the launches come from the optimizer")
        for line in found.answer.advice
    )


def test_operators_and_modules_of_an_encoder_are_known_for_all_steps() -> None:
    """They are named for the first steps alone, and taken to be the same in the others."""
    found = survey_program(trace("encoder"), 9.7)
    groups = {(each.kind, each.name): each for each in found.groups}
    linear = groups["module", "layers.*.linear1 (Linear)"]
    assert linear.launches == 23 * 6
    assert linear.place.endswith("encoder.py:23")
    backward = groups["module", "layers.*.linear1 (Linear), backward"]
    assert backward.share > linear.share
    assert groups["operator", "AddmmBackward0"].share == pytest.approx(0.33, abs=0.01)
    assert groups["operator", "Optimizer.step#AdamW.step"].launches > 10_000
    assert sum(each.share for each in found.groups if each.kind == "operator") <= 1.001


def test_bare_operators_have_their_line_of_python() -> None:
    """Those of an optimizer and of autograd too, which the script calls no operator for."""
    lines = lines_of("encoder")
    assert lines["encoder.py:23"].launches == 2388
    assert lines["encoder.py:23, backward"].share == pytest.approx(0.53, abs=0.01)
    assert lines["encoder.py:25"].launches == 13_441
    short = lines_of("short")
    assert {name: each.launches for name, each in short.items()} == {
        "short_kernels.py:17": 4000,
        "short_kernels.py:12": 1,
        "short_kernels.py:13": 1,
    }
    assert short["short_kernels.py:17"].place.endswith("/short_kernels.py:17")
    assert "short_kernels.py:17" not in lines_of("graph")


def lines_of(name: str) -> dict[str, Owner]:
    return {
        each.name: each for each in survey_program(trace(name), 1.0).groups if each.kind == "line"
    }


def test_functions_of_triton_have_their_line() -> None:
    found = survey_program(trace("triton"), 5.9)
    (function,) = [each for each in found.groups if each.kind == "function"]
    assert function.name == "softmax"
    assert function.place.endswith("triton_script.py:8")
    assert function.launches == 20
