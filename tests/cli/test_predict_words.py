"""What is said of a prediction: on what it rests, what to type next, and why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cli.test_gate_sources import SCALE
from tests.cli.test_predict import ROOT, SOURCE, changed

from kernelprof.prediction import predictor

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow("two predictions")
def test_an_open_verdict_speaks_of_the_prediction(kernelprof, work: Path) -> None:
    command = "diagnose matvec.cu --predict --arch sm_120"
    out = kernelprof(
        f"{command} --html p.html --explain",
        code={0, 3},
        out="Could be uncoalesced-global-access, dram-bandwidth or",
    ).out
    assert "capture does not" not in out
    page = (work / "p.html").read_text("utf-8")
    assert "This prediction does not show what limits the kernel; candidates: " in page
    sarif = kernelprof(f"{command} --format sarif", code={0, 3}).json
    texts = [each["message"]["text"] for each in sarif["runs"][0]["results"]]
    assert "only a measurement can decide." in texts[0]


@pytest.mark.slow("a kernel is predicted in each format")
def test_a_result_that_nothing_checks_is_told(kernelprof, work: Path) -> None:
    (work / "scale.cu").write_text(SCALE, "utf-8")
    kernelprof(
        "diagnose scale.cu --predict",
        code={0, 3},
        err='Result not checked: the specification has reference = "none"',
    )
    err = kernelprof("diagnose matvec.cu --predict", code={0, 3}).err
    assert "not checked" not in err


@pytest.mark.usefixtures("work")
def test_the_command_for_a_gpu_has_the_sizes_of_the_prediction(kernelprof) -> None:
    sizes = "--size M=512 --size N=256"
    kernelprof(
        f"diagnose matvec.cu --predict {sizes} --arch sm_120",
        code={0, 3},
        out="kernelprof diagnose matvec.cu --size M=512 --size N=256 --preset full\n",
    )


@pytest.mark.usefixtures("work")
def test_without_the_memory_for_it_the_arrays_are_named(
    kernelprof, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(predictor, "count_launch", count)
    kernelprof(
        "diagnose matvec.cu --predict --size M=1000000000",
        code=4,
        err=[
            "largest arrays: A 4.1 TB, y 4 GB, x 4.1 kB\n",
            "  next: choose a smaller --size (now M=1000000000, N=1024)\n",
        ],
    )


def test_code_for_a_newer_architecture_is_said_in_a_few_lines(kernelprof) -> None:
    source = ROOT / "cuda" / "ladder" / "bf16" / "04_wgmma.cu"
    err = kernelprof(f"diagnose {source} --predict --arch sm_80", code=2).err
    lines = err.splitlines()
    assert len(lines) <= 12
    assert lines[1].startswith("  | ptxas application ptx input, line ")
    assert any(each.startswith("  | and ") and each.endswith("errors from ptxas") for each in lines)
    needs = "the kernel needs an sm_90a GPU: diagnose it on a machine with such a GPU and ncu"
    assert lines[-1] == f"  next: {needs}"


def test_tcgen05_is_refused_with_the_gpu_that_runs_it(kernelprof, work: Path) -> None:
    (work / "tmem.cu").write_text(
        "__global__ void tmem(float* y) {\n"
        "    __shared__ unsigned at;\n"
        "    unsigned to = __cvta_generic_to_shared(&at);\n"
        '    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;"\n'
        '                 :: "r"(to) : "memory");\n'
        "    y[0] = at;\n"
        "}\n",
        encoding="utf-8",
    )
    err = kernelprof("diagnose tmem.cu --predict --arch sm_100a", code=4).err
    assert "is part of tcgen05 (tensor cores with tensor memory), which needs a GPU" in err
    assert err.endswith("  next: diagnose the kernel on a machine with a GPU and ncu\n")
    err = kernelprof("diagnose tmem.cu --predict --arch sm_120", code=2).err
    needs = "the kernel needs an sm_100a GPU: diagnose it on a machine with such a GPU and ncu"
    assert err.endswith(f"  next: {needs}\n")


@pytest.mark.slow("one more predicted page")
def test_a_page_says_that_its_operations_are_predicted(kernelprof, work: Path) -> None:
    kernelprof("diagnose matvec.cu --predict --html p.html", code={0, 3})
    page = (work / "p.html").read_text("utf-8")
    assert "from the machine code (predicted)." in page
    assert "hardware counters" not in page


@pytest.mark.slow("two predictions")
def test_the_page_of_a_wrong_candidate_says_that_nothing_was_counted(
    kernelprof, work: Path
) -> None:
    name = changed(work, ("row >= M", "row > M"))
    kernelprof(f"gate {SOURCE.name} {name} --predict --html g.html", code=1)
    page = (work / "g.html").read_text("utf-8")
    assert "Nothing counted: the kernel was not run to completion." in page
    assert "No exact counter changed" not in page
    assert "not run to completion</" in page
    assert "inconclusive</" not in page
