"""What the output of ``nvidia-smi`` and the driver's files are understood as."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelprof.collect import environment


def _executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


SMI = """#!/bin/sh
case "$1" in
--query-gpu=*) echo '0, NVIDIA H200, 580.159.04, 9.0, 345, 3201, 1980, 3201'
echo '1, NVIDIA H200, 580.159.04, 9.0, 1980, 3201, [N/A], 3201' ;;
*) echo '| NVIDIA-SMI 580.159.04   Driver Version: 580.159.04   CUDA Version: 13.0  |' ;;
esac
"""


def test_a_machine_with_two_gpus(nowhere: Path) -> None:
    _executable(nowhere / "bin" / "nvidia-smi", SMI)
    found = environment.query_machine()
    assert (found.driver, found.cuda, found.compute_capability) == ("580.159.04", "13.0", (9, 0))
    assert found.gpus[0] == environment.LocalGpu(
        0, "NVIDIA H200", (9, 0), 345.0, 3201.0, 1980.0, 3201.0
    )
    assert found.gpus[1].max_sm_mhz is None


def test_a_machine_without_one(nowhere: Path) -> None:
    assert environment.query_machine() == environment.LocalMachine()
    failing = "#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n"
    _executable(nowhere / "bin" / "nvidia-smi", failing)
    assert environment.query_machine() == environment.LocalMachine()
    assert environment.query_machine().compute_capability is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ResmanDebugLevel: 5\nRmProfilingAdminOnly: 1\n", True),
        ("RmProfilingAdminOnly: 0\n", False),
    ],
)
def test_who_may_read_counters(tmp_path, monkeypatch, text, expected) -> None:
    path = tmp_path / "params"
    monkeypatch.setattr(environment, "_PARAMETERS", path)
    assert environment.counters_are_for_administrators() is None
    path.write_text(text, encoding="ascii")
    assert environment.counters_are_for_administrators() is expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [("000001ffffffffff", True), ("00000000a80425fb", False), ("0000000000200000", True)],
)
def test_a_containers_root_is_no_administrator(tmp_path, monkeypatch, held, expected) -> None:
    path = tmp_path / "status"
    path.write_text(f"Name:\tpython\nCapEff:\t{held}\n", encoding="ascii")
    monkeypatch.setattr(environment, "_STATUS", path)
    assert environment.is_administrator() is expected


def test_only_the_gpus_that_are_visible_by_their_uuid(nowhere, monkeypatch) -> None:
    asked = 'echo "$*" >> "$0.log"\n'
    smi = _executable(nowhere / "bin" / "nvidia-smi", SMI.replace("\n", f"\n{asked}", 1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    environment.query_machine()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-5f0e")
    environment.query_machine()
    lines = Path(f"{smi}.log").read_text(encoding="utf-8").splitlines()
    asked_for = [each.partition("--query-gpu=") for each in lines]
    assert [before for before, found, _ in asked_for if found] == ["", "-i GPU-5f0e "]
