"""The table of GPUs beside what drivers report in captures, and how one is found."""

from __future__ import annotations

import pytest

from kernelprof.analysis.findings import list_findings
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.gpus import find_gpu, load_gpus
from kernelprof.prediction.estimates import gpu_models
from kernelprof.sources import read_capture


def test_the_table_has_each_gpu_once() -> None:
    names = [each.name for each in load_gpus()]
    assert len(set(names)) == len(names) >= 100
    assert all(each.source for each in load_gpus())


@pytest.mark.parametrize(
    ("name", "capability", "sms", "found"),
    [
        ("NVIDIA GeForce RTX 3090", None, None, "NVIDIA GeForce RTX 3090"),
        ("GeForce RTX 2080 Ti", (7, 5), 68, "NVIDIA GeForce RTX 2080 Ti"),
        ("NVIDIA GeForce RTX 9090", (8, 6), 82, None),
        (None, (12, 0), 70, "NVIDIA GeForce RTX 5070 Ti"),
        (None, (9, 0), 132, None),
        (None, (7, 5), 40, None),
        (None, None, None, None),
    ],
    ids=["name", "old name", "unknown", "one of its size", "many", "two", "nothing"],
)
def test_a_gpu_is_found_by_its_name_or_size(name, capability, sms, found) -> None:
    gpu = find_gpu(name, capability, sms)
    assert (None if gpu is None else gpu.name) == found


@pytest.mark.parametrize("model", gpu_models().values(), ids=lambda model: model.name)
def test_specified_figures_are_those_that_drivers_report(model) -> None:
    gpu = find_gpu(model.name, None, None)
    assert gpu is not None
    assert gpu.sms == model.sms
    reported = 2 * model.memory_hz * model.bus_bits / 8 * 1e-9
    assert gpu.dram_gb_per_s == pytest.approx(reported, rel=0.03)
    assert gpu.l2_mib is None or gpu.l2_mib * 2**20 == pytest.approx(model.l2_bytes, rel=0.01)


@pytest.mark.parametrize(
    ("device", "says", "bottleneck"),
    [
        ("NVIDIA GeForce RTX 3090", "DRAM throughput is 750 GB/s, 80 % of the 936 GB/s", True),
        ("NVIDIA H200", "DRAM throughput is 750 GB/s, 15.6 % of the 4.8 TB/s", False),
        ("NVIDIA A2", "DRAM throughput is 750 GB/s.", False),
        ("Some GPU", "DRAM throughput is 750 GB/s.", False),
    ],
    ids=["near its peak", "far from it", "beyond it", "unknown"],
)
def test_a_rate_is_placed_against_the_peak_of_a_known_gpu(
    tmp_path, device: str, says: str, *, bottleneck: bool
) -> None:
    path = tmp_path / "raw.csv"
    path.write_text(
        '"ID","Kernel Name","device__attribute_display_name","gpu__time_duration.sum",'
        '"dram__bytes_read.sum","dram__bytes_write.sum"\n'
        '"","","","ns","byte","byte"\n'
        f'"0","k","{device}","1000000","500000000","250000000"\n',
        "utf-8",
    )
    first = list_findings(Facts(read_capture(path)), 0)[0]
    assert first.text.startswith(says)
    assert (first.bottleneck == "dram-bandwidth") == bottleneck
