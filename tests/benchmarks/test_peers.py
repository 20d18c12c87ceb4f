"""What the peers' sentences and labels are taken for, and that nothing of theirs is ignored."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.peers import translation
from benchmarks.peers.__main__ import main
from benchmarks.peers.fournex import Fournex, own_table, read_answer, read_launch
from benchmarks.peers.ncu_rules import Said, find, read_rules
from benchmarks.peers.translation import UnknownSayingError, of_label, of_sentence

from kernelprof.analysis.rules import load_rules
from kernelprof.errors import InputError
from kernelprof.resources import data_folder

CAPTURES = Path(__file__).parent.parent / "captures"
PEERS = CAPTURES / "peers"
ANSWER: dict[str, Any] = {
    "primary_bottleneck": "uncoalesced_access",
    "bottlenecks": [
        {"label": "uncoalesced_access", "score": 1.0},
        {"label": "tensor_core_underutilized", "score": 1.0},
        {"label": "warp_stall_memory", "score": 0.898},
    ],
    "diagnostic_scope": {"type": "measured_ncu", "confidence": "high"},
}
"""What Fournex 0.3.1 answers about ``transpose-column-reads``, shortened."""

# The rule, what its sentence in ``sentences.details.csv`` has, what it is taken for, by name.
EXPECTED = [
    ("CPIStall", "fixed latency", "dependency-latency instruction-issue low-occupancy"),
    ("AchievedOccupancy", "(100.0%)", "low-occupancy workload-imbalance"),
    (
        "CPIStall",
        "after EXIT",
        "atomic-contention dram-bandwidth memory-latency uncoalesced-global-access",
    ),
    (
        "CPIStall",
        "L1 instruction queue for local and global",
        "l1-throughput local-memory-traffic uncoalesced-global-access",
    ),
    (
        "CPIStall",
        "MIO (memory input/output) instruction queue",
        "sfu-throughput shared-bank-conflicts shared-memory-throughput",
    ),
    ("SharedMemoryConflicts", "shared loads", "shared-bank-conflicts"),
    ("ThreadDivergence", "groups of 32", "warp-divergence"),
    ("UncoalescedGlobalAccess", "excessive sectors", "uncoalesced-global-access"),
    ("MemoryCacheAccessPattern", "local loads", "local-memory-traffic"),
    ("WorkloadImbalance", "One or more SMs", "small-grid workload-imbalance"),
    ("WorkloadImbalance", "One or more L2 Slices", "l2-bandwidth workload-imbalance"),
    ("HighPipeUtilization", "Tensor is", "tensor-throughput"),
    ("HighPipeUtilization", "FMA is", "fp32-throughput integer-throughput"),
    ("SOLBottleneck", "the DRAM bottleneck", "dram-bandwidth uncoalesced-global-access"),
    ("FPInstructions", "FP32", "fp32-throughput"),
    ("SOLFPRoofline", "61% of its FP64", "fp64-throughput"),
    ("LaunchConfiguration", "1 full waves", "small-grid workload-imbalance"),
    ("MemoryL2Compression", "L2 Compression", "dram-bandwidth"),
]


def _rules(name: str) -> tuple[Said, ...]:
    return read_rules((PEERS / name).read_text("utf-8"), name)


def _own(name: str) -> dict[str, float]:
    launch = read_launch((PEERS / name).read_text("utf-8"), name)
    rows = csv.DictReader(own_table(launch, name).splitlines())
    return {row["Metric Name"]: float(row["Metric Value"]) for row in rows}


@pytest.mark.parametrize(("rule", "part", "slugs"), EXPECTED)
def test_a_real_sentence_stands_for_what_it_names(rule: str, part: str, slugs: str) -> None:
    (said,) = [
        each
        for each in _rules("sentences.details.csv")
        if each.rule == rule and part in each.sentence
    ]
    assert sorted(of_sentence(rule, said.sentence)) == slugs.split()


def test_every_row_of_the_excerpt_is_expected() -> None:
    assert len(_rules("sentences.details.csv")) == len(EXPECTED)


@pytest.mark.parametrize(
    "name",
    [
        "gemm_series.full.details.csv",
        *(f"validation/{each}details.csv.gz" for each in ("", "more.", "frameworks.")),
    ],
)
def test_every_sentence_of_other_launches_has_a_translation(name: str) -> None:
    path = CAPTURES / name
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as page:
        rows = [row for row in csv.DictReader(page) if row.get("Rule Name")]
    assert len(rows) > 100
    for row in rows:
        of_sentence(row["Rule Name"], row["Rule Description"])


def test_all_bottlenecks_of_the_tables_exist() -> None:
    named = [slug for saying in translation.SAYINGS for slug in saying.slugs]
    named += [slug for label in translation.LABELS for slug in label.slugs]
    assert set(named) <= set(load_rules())
    for entry in (*translation.SAYINGS, *translation.LABELS):
        assert len(set(entry.slugs)) == len(entry.slugs), entry


def test_the_largest_global_estimate_counts_and_ties_count_together() -> None:
    found = find(_rules("calibration-coefficients-reloaded.details.csv"))
    assert (found.rule, found.kind) == ("CPIStall + TheoreticalOccupancy", "global")
    assert found.speedup_percent == 32.7  # two local estimates are larger or the same
    assert found.sentence.startswith("On average, each warp of this workload spends 11.3 cycles")
    assert len(found.sentence) == 160
    assert found.slugs == (
        "atomic-contention",
        "dram-bandwidth",
        "l1-throughput",
        "l2-bandwidth",
        "local-memory-traffic",
        "low-occupancy",
        "memory-latency",
        "uncoalesced-global-access",
    )
    assert set(found.slugs) < set(found.anywhere)


def test_a_local_estimate_counts_where_there_is_no_global_one() -> None:
    said = [each for each in _rules("sentences.details.csv") if each.kind != "global"]
    found = find(said)
    assert (found.rule, found.kind, found.speedup_percent) == ("CPIStall", "local", 34.62)
    assert found.slugs == ("dependency-latency", "instruction-issue", "low-occupancy")


def test_the_headline_counts_where_there_is_no_estimate() -> None:
    found = find([each for each in _rules("sentences.details.csv") if not each.kind])
    assert (found.rule, found.kind, found.speedup_percent) == ("SOLBottleneck", "none", None)
    assert found.slugs == ("dram-bandwidth", "uncoalesced-global-access")
    assert find([]).slugs == ()


def test_unknown_sayings_are_refused_all_at_once() -> None:
    said = [
        Said("QuantumTunnelling", "Electrons leave.", "global", 12.0),
        Said("CPIStall", "being stalled waiting for the moon.", "", None),
        *_rules("sentences.details.csv"),
    ]
    with pytest.raises(UnknownSayingError) as error:
        find(said)
    assert error.value.what.splitlines() == [
        "rule QuantumTunnelling of Nsight Compute has no translation: 'Electrons leave.'",
        "no translation of rule CPIStall has this wording: 'being stalled waiting for the moon.'",
    ]
    with pytest.raises(UnknownSayingError, match="label 'gremlins' of Fournex"):
        of_label("gremlins")


def test_other_files_are_refused() -> None:
    raw = (PEERS / "transpose-column-reads.raw.csv").read_text("utf-8")
    with pytest.raises(InputError, match="no column 'Rule Name'"):
        read_rules(raw, "raw.csv")
    with pytest.raises(InputError, match="no raw page of one launch"):
        read_launch(raw + raw, "raw.csv")
    with pytest.raises(InputError, match=r"no number for gpu__dram_throughput"):
        own_table({}, "raw.csv")


def test_fournex_gets_the_metrics_that_it_reads_under_its_names() -> None:
    values = _own("transpose-column-reads.raw.csv")
    assert values["dram__throughput.avg.pct_of_peak_sustained_elapsed"] == 34.22
    assert values["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld"] == 32
    prefix = "smsp__pcsamplingdata_pct_of_utilization_issue_stalled_"
    stalls = {name.removeprefix(prefix): v for name, v in values.items() if prefix in name}
    assert max(stalls, key=lambda name: stalls[name]) == "long_scoreboard"
    assert stalls["long_scoreboard"] == pytest.approx(89.8, abs=0.1)
    assert sum(stalls.values()) <= 100


def test_fournex_names_its_primary_bottleneck() -> None:
    found = read_answer(ANSWER)
    assert (found.label, found.confidence) == ("uncoalesced_access", "high")
    assert found.slugs == ("uncoalesced-global-access",)
    assert {"fp32-throughput", "memory-latency"} < set(found.anywhere)
    nothing = read_answer(ANSWER | {"primary_bottleneck": None, "bottlenecks": []})
    assert (nothing.label, nothing.slugs) == ("insufficient_ncu_data", ())


def _stub(folder: Path, answer: str) -> Path:
    """A console script that keeps its input and answers, beside a Python that tells a version."""
    script = folder / "fournex"
    keep = f"shutil.copy(sys.argv[2], {str(folder / 'seen.csv')!r})"
    script.write_text(f"#!{sys.executable}\nimport shutil, sys\n{keep}\nprint({answer!r})\n")
    python = folder / "python"
    python.write_text(f"#!{sys.executable}\nprint('0.3.1')\n")
    for each in (script, python):
        each.chmod(0o755)
    return script


def _everything(folder: Path, details: str = "calibration-coefficients-reloaded") -> str:
    """Pages of the first pair, and of one that the corpus does not have."""
    pair = min((data_folder("cuda") / "pairs").glob("*/pair.toml")).parent.name
    page = (PEERS / f"{details}.details.csv").read_bytes()
    raw = (PEERS / "transpose-column-reads.raw.csv").read_bytes()
    for name in (pair, "no-such-pair"):
        (folder / f"{name}.details.csv.gz").write_bytes(gzip.compress(page))
        (folder / f"{name}.raw.csv.gz").write_bytes(gzip.compress(raw))
    return pair


def test_one_command_writes_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = _everything(tmp_path)
    script = _stub(tmp_path, json.dumps({"mode": "ncu", "result": ANSWER}))
    report = tmp_path / "report.json"
    assert main([str(tmp_path), "--fournex", str(script), "-o", str(report)]) == 0
    written = report.read_text("utf-8")
    values = json.loads(written)
    assert written == json.dumps(values, indent=1, sort_keys=True) + "\n"
    assert values["fournex"]["version"] == "0.3.1"
    assert list(values["ncu"]["pairs"]) == list(values["fournex"]["pairs"]) == [pair]
    assert values["ncu"]["pairs"][pair]["rule"] == "CPIStall + TheoreticalOccupancy"
    assert values["fournex"]["pairs"][pair]["label"] == "uncoalesced_access"
    assert str(tmp_path) not in written
    out, err = capsys.readouterr()
    assert [line.partition(":")[0] for line in out.splitlines()] == ["Nsight Compute", "Fournex"]
    assert "no-such-pair: left out" in err


def test_the_command_tells_errors_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    script = _stub(tmp_path, "no JSON")
    options = ["--fournex", str(script), "-o", str(report)]
    assert main([str(tmp_path), *options]) == 2
    assert "no details pages of the corpus" in capsys.readouterr().err
    pair = _everything(tmp_path)
    assert main([str(tmp_path), *options]) == 2
    assert "Fournex gave no answer: no JSON" in capsys.readouterr().err
    options[1] = str(tmp_path / "elsewhere" / "fournex")
    assert main([str(tmp_path), *options]) == 4
    assert "Fournex cannot be run" in capsys.readouterr().err
    page = (PEERS / "sentences.details.csv").read_text("utf-8")
    page = page.replace("ThreadDivergence", "ThreadTeleportation")
    (tmp_path / f"{pair}.details.csv.gz").write_bytes(gzip.compress(page.encode()))
    assert main([str(tmp_path), *options]) == 2
    assert f"{pair}: rule ThreadTeleportation of Nsight" in capsys.readouterr().err
    assert not report.exists()


@pytest.mark.parametrize(
    ("form", "start"),
    [("own", '"ID","Kernel Name","Metric Name"'), ("raw", '"ID","K'), ("details", "d")],
)
def test_a_form_gives_fournex_that_page(form: str, start: str, tmp_path: Path) -> None:
    script = _stub(tmp_path, json.dumps({"result": ANSWER}))
    raw = (PEERS / "transpose-column-reads.raw.csv").read_text("utf-8")
    assert Fournex(script).find(raw, "d", "x", form).label == "uncoalesced_access"
    seen = (tmp_path / "seen.csv").read_text("utf-8")
    assert seen.startswith(start)
    assert (seen == raw) == (form == "raw")
