"""The command that profiles, and what a filter becomes."""

from __future__ import annotations

import shlex

from kernelprof.analysis.metrics.catalogue import load_metrics, metrics_for
from kernelprof.analysis.survey.selection import ChosenName
from kernelprof.collect.commands import (
    DEFAULT_CLOCKS,
    Chosen,
    LaunchFilters,
    import_command,
    profile_command,
    source_page_command,
)

TIME = metrics_for(["duration"])


def _command(filters: LaunchFilters = LaunchFilters(), **options: object) -> str:  # noqa: B008
    given = {"report": "D/capture.ncu-rep", "log": "D/ncu.log", "filters": filters, **options}
    return shlex.join(profile_command("/cuda/ncu", ("./app", "a b"), TIME, **given))  # type: ignore[arg-type]


def test_the_whole_command() -> None:
    assert DEFAULT_CLOCKS == "none"
    assert _command() == (
        "/cuda/ncu --metrics gpu__time_duration.sum --clock-control none --target-processes all"
        " --export D/capture.ncu-rep --log-file D/ncu.log ./app 'a b'"
    )


def test_samples_are_asked_for_beside_the_metrics() -> None:
    assert _command(samples=True).startswith(
        "/cuda/ncu --metrics gpu__time_duration.sum,group:smsp__pcsamp_warp_stall_reasons"
        " --section SourceCounters --clock"
    )


def test_filters_become_options() -> None:
    filters = LaunchFilters("^gemm", 2, 3, ("step/", "d@r"))
    assert (
        " --kernel-name-base demangled --kernel-name 'regex:^gemm' --launch-skip 2"
        " --launch-count 3 --nvtx --nvtx-include step/ --nvtx-include d@r --clock-control base"
        in _command(filters, clock_control="base")
    )


def test_one_kernel_is_exact_and_several_share_an_expression() -> None:
    one = _command(narrowed=["void gemm<16, 0>(float *, int)"])
    assert "--kernel-name-base demangled --kernel-name 'regex:(^|[ :])gemm<" in one
    several = _command(
        LaunchFilters("."), narrowed=["void ns::gemm<16>(int)", "copy(int)", "copy(int)"]
    )
    assert "--kernel-name 'regex:^(gemm|copy)$' --clock" in several


def test_mangled_names_are_not_mixed_with_others() -> None:
    assert "--kernel-name" not in _command(narrowed=["_Z4copyPf", "_Z4gemmPf"])
    assert "--kernel-name-base mangled --kernel-name _Z4copyPf" in _command(narrowed=["_Z4copyPf"])


def test_counted_launches_are_counted_alike_in_every_run() -> None:
    filters = LaunchFilters("^g", launch_skip=4)
    assert _command(filters, narrowed=["copy(int)"]) == _command(filters)


def test_names_are_those_of_the_architecture() -> None:
    dram = [load_metrics()["dram_bytes_read"]]
    command = profile_command(
        "ncu",
        ("./app",),
        dram,
        report="r",
        log="l",
        filters=LaunchFilters(),
        compute_capability=(12, 0),
    )
    assert command[2] == "dram__bytes_op_read.sum"


def test_a_report_is_exported_in_base_units() -> None:
    assert shlex.join(import_command("ncu", "x.ncu-rep")) == (
        "ncu --import x.ncu-rep --csv --page raw --print-units base"
    )
    assert shlex.join(source_page_command("ncu", "x.ncu-rep")) == (
        "ncu --import x.ncu-rep --csv --page source --print-source cuda,sass"
    )


def test_launches_that_a_survey_chose() -> None:
    names = ChosenName("_Z5sweepPf", "sweep", 2), ChosenName("softmax", "softmax", 2)
    chosen = Chosen(names, (8, 30), ends=True)
    command = _command(LaunchFilters("never.used", chosen=chosen))
    assert (
        "--kernel-name-base mangled --kernel-id '::regex:^(_Z5sweepPf|softmax)$:^(8|30)$'"
        " --launch-count 4 --kill yes --clock-control none"
    ) in command
    assert "never.used" not in command
    one = _command(LaunchFilters(chosen=chosen), narrowed=["void sweep<4>(float *)"])
    assert (
        "--kernel-id '::regex:^(_Z5sweepPf)$:^(8|30)$' --launch-count 2 --kill yes --clock"
    ) in one
    assert _command(LaunchFilters(chosen=chosen), narrowed=["other"]) == _command(
        LaunchFilters(chosen=chosen)
    )
    first = _command(LaunchFilters(chosen=Chosen((ChosenName("a.b", "b", 3),), (), ends=False)))
    assert r"--kernel-name-base mangled --kernel-name 'regex:^(a\.b)$' --clock-control" in first
