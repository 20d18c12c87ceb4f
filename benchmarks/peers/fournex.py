"""What Fournex says about a raw page, in the form of its input that serves it best.

Its classifier reads about twenty metrics by name, those that ``fournex ncu-command full`` collects.
The raw page of ``--set full`` has most of them under other names, or has what they are ratios of;
the form ``own`` is a table of exactly these metrics, as Fournex's own command would have printed.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.peers.translation import of_label

from kernelprof.errors import InputError, MissingToolError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMS: Final = ("own", "raw", "details")

METRICS: Final = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": (
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
    ),
    "sm__issue_active.avg.pct_of_peak_sustained_active": (
        "smsp__issue_active.avg.pct_of_peak_sustained_active"
    ),
    "smsp__warps_active.avg.pct_of_peak_sustained_active": (
        "sm__warps_active.avg.pct_of_peak_sustained_active"
    ),
} | {
    name: name
    for name in (
        "l1tex__t_sector_hit_rate.pct",
        "launch__block_size",
        "launch__registers_per_thread",
        "launch__shared_mem_per_block_dynamic",
        "launch__shared_mem_per_block_static",
        "lts__t_sector_hit_rate.pct",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "smsp__warps_eligible.avg.per_cycle_active",
    )
}
"""Metrics as Fournex calls them, and as the raw page of ``--set full`` does."""

COALESCING: Final = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld"
SECTORS: Final = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
REQUESTS: Final = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"

STALL: Final = "smsp__pcsamplingdata_pct_of_utilization_issue_stalled_"
"""No chip that ncu 2025.3 lists has these metrics; a stall's share of warp time stands for them."""
STALLED: Final = ("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio")
STALLS: Final = {
    "barrier": "barrier",
    "dispatch": "dispatch_stall",
    "lg": "lg_throttle",
    "long_scoreboard": "long_scoreboard",
    "mio": "mio_throttle",
    "not_selected": "not_selected",
    "short_scoreboard": "short_scoreboard",
    "texture": "tex_throttle",
    "wait": "wait",
}
"""Fournex's names of stalls and Nsight Compute's; its ``memory_throttle`` is none of them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What Fournex names for a launch; ``anywhere`` is from all labels that it gives."""

    label: str
    confidence: str
    slugs: tuple[str, ...]
    anywhere: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        """The same as the report has it."""
        return {
            "label": self.label,
            "confidence": self.confidence,
            "slugs": list(self.slugs),
            "anywhere": list(self.anywhere),
        }


@dataclass(frozen=True, slots=True)
class Fournex:
    """An installed Fournex, by its console script."""

    script: Path

    def version(self) -> str:
        """The version of the distribution, as its Python tells it."""
        code = "import importlib.metadata as m; print(m.version('fournex'))"
        return self._run([str(self.script.parent / "python"), "-c", code]).stdout.strip()

    def find(self, raw: str, details: str, where: str, form: str = FORMS[0]) -> Finding:
        """What it answers about one launch."""
        launch = read_launch(raw, where)
        text = {"own": own_table(launch, where), "raw": raw, "details": details}[form]
        gpu = launch.get("device__attribute_display_name", "")
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.csv"
            page.write_text(text, encoding="utf-8")
            run = self._run([str(self.script), "analyze", str(page), "--json", "--gpu-model", gpu])
        # It exits with 1 on raw pages, which it calls invalid, and answers all the same.
        try:
            result = json.loads(run.stdout)["result"]
        except (ValueError, KeyError) as error:
            said = (run.stderr.strip() or run.stdout.strip()).partition("\n")[0]
            raise InputError(f"Fournex gave no answer: {said}", where=where) from error
        return read_answer(result)

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise MissingToolError(
                f"Fournex cannot be run: {error.strerror}",
                where=command[0],
                hint="install it into an environment of its own: pip install fournex==0.3.1",
            ) from error


def read_answer(result: Mapping[str, Any]) -> Finding:
    """What is in the answer that ``fournex analyze --json`` prints."""
    label = result["primary_bottleneck"] or "insufficient_ncu_data"
    labels = {label, *(each["label"] for each in result["bottlenecks"])}
    return Finding(
        label=label,
        confidence=result["diagnostic_scope"]["confidence"],
        slugs=tuple(sorted(of_label(label))),
        anywhere=tuple(sorted({slug for name in labels for slug in of_label(name)})),
    )


def read_launch(raw: str, where: str) -> dict[str, str]:
    """The one launch of a raw page: names, units, values."""
    rows = list(csv.reader(raw.splitlines()))
    if len(rows) != 3:
        raise InputError("it is no raw page of one launch", where=where)
    return dict(zip(rows[0], rows[2], strict=True))


def own_table(launch: Mapping[str, str], where: str) -> str:
    """The metrics that Fournex reads, under its names, as a CSV of one line a metric."""
    values = {name: _number(launch, theirs, where) for name, theirs in METRICS.items()}
    if requests := _number(launch, REQUESTS, where):
        values[COALESCING] = _number(launch, SECTORS, where) / requests
    before, after = STALLED
    cycles = {
        name.removeprefix(before).removesuffix(after): _number(launch, name, where)
        for name in launch
        if name.startswith(before) and name.endswith(after)
    }
    total = sum(cycles.values())
    for name, stall in STALLS.items():
        if total and stall in cycles:
            values[STALL + name] = 100 * cycles[stall] / total
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"])
    kernel = launch.get("Kernel Name", "kernel")
    writer.writerows(["0", kernel, name, "", f"{value:.6g}"] for name, value in values.items())
    return out.getvalue()


def _number(launch: Mapping[str, str], name: str, where: str) -> float:
    try:
        return float(launch[name].replace(",", ""))
    except (KeyError, ValueError) as error:
        raise InputError(f"the raw page has no number for {name}", where=where) from error
