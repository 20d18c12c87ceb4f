"""The commands that are printed for presets, and what the real ``ncu`` makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.gpu import support

from kernelprof.analysis.metrics.catalogue import preset as known_preset
from kernelprof.analysis.metrics.catalogue import presets
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from tests.gpu.conftest import Diagnose, Results

KERNELS = ["scale", "strided", "rounds"]


@pytest.mark.parametrize("preset", sorted(presets()))
def test_ncu_takes_the_printed_command_and_its_export_is_read(
    preset: str,
    scratch: Path,
    *,
    printed_command: Callable[..., str],
    diagnose: Diagnose,
    results: Results,
    say: Callable[[str], None],
) -> None:
    line = printed_command(preset, scratch / "fixture", "an argument of its own")
    ran = support.run_line(line, scratch)
    assert ran.code == 0, ran.said
    written = scratch / "capture.csv"
    capture = read_capture(written)
    assert [launch.kernel.partition("(")[0] for launch in capture.launches] == KERNELS
    assert capture.clock_control == "none"

    code, kernels = diagnose(written)
    absent = support.absent(written, support.asked_metrics(line))
    counts = support.passes(written)
    say(f"{line}\n{ran.seconds:.1f} s, passes {counts}, diagnosed with exit code {code}")
    say(f"not given: {', '.join(absent) or 'nothing'}")
    for kernel in kernels:
        say(f"  {kernel['name']}: {support.named(support.answer(kernel))}")
    results.presets.append(
        {"preset": preset, "passes": max(counts), "code": code, "absent": absent}
    )

    capability = capture.launches[0].compute_capability
    on_chip = [metric.ncu_names(capability)[:1] for metric in known_preset(preset).metrics]
    promised = [name for names in on_chip for name in names]
    assert support.absent(written, promised) == []


@pytest.mark.parametrize("label", support.LABELS)
def test_the_preset_full_says_what_the_full_set_says(
    label: str,
    full_answers: dict[str, dict[str, Any]],
    preset_answers: dict[str, dict[str, Any]],
    say: Callable[[str], None],
) -> None:
    say(f"--set full:    {full_answers[label]}")
    say(f"--preset full: {preset_answers[label]}")
    assert support.same(full_answers[label], preset_answers[label])
