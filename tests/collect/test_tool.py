"""Where ``ncu`` is found, and what ``nvidia-smi`` and the driver's files are understood as."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelprof.collect import environment, source, tool
from kernelprof.errors import MissingToolError

STAND_IN = Path(__file__).parents[1] / "fake_ncu" / "ncu"


def _executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without ``ncu``; where its installers would put one."""
    monkeypatch.delenv(tool.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(tool, "_PLACES", (f"{tmp_path}/cuda/bin", f"{tmp_path}/nsight/*"))
    return tmp_path


def test_not_installed(nowhere: Path) -> None:
    with pytest.raises(MissingToolError, match="not installed here") as caught:
        tool.find_ncu()
    assert str(nowhere / "nsight") in (caught.value.where or "")
    assert "developer.nvidia.com/nsight-compute" in (caught.value.hint or "")


def test_the_order_of_places(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _executable(nowhere / "nsight" / "2024.3.2" / "ncu")
    newest = _executable(nowhere / "nsight" / "2025.10.1" / "ncu")
    _executable(nowhere / "nsight" / "2025.3.1" / "ncu")
    assert tool.find_ncu() == str(newest)
    toolkit = _executable(nowhere / "cuda" / "bin" / "ncu")
    assert tool.find_ncu() == str(toolkit)
    on_path = _executable(nowhere / "bin" / "ncu")
    assert tool.find_ncu() == str(on_path)
    monkeypatch.setenv(tool.VARIABLE, str(STAND_IN))
    assert tool.find_ncu() == str(STAND_IN)


def test_a_variable_that_names_nothing(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tool.VARIABLE, str(nowhere / "ncu"))
    with pytest.raises(MissingToolError, match="KERNELPROF_NCU does not name"):
        tool.find_ncu()


def test_its_version(nowhere: Path) -> None:
    silent = _executable(nowhere / "ncu")
    assert tool.ncu_version(str(silent)) is None
    assert tool.ncu_version(str(nowhere / "nothing")) is None


def test_the_version_of_the_stand_in() -> None:
    assert tool.ncu_version(str(STAND_IN)) == "2025.3.1.0"


SMI = """#!/bin/sh
case "$1" in
--query-gpu=*) echo '0, NVIDIA H200, 580.159.04, 9.0, 345, 3201, 1980, 3201'
echo '1, NVIDIA H200, 580.159.04, 9.0, 1980, 3201, [N/A], 3201' ;;
*) echo '| NVIDIA-SMI 580.159.04   Driver Version: 580.159.04   CUDA Version: 13.0  |' ;;
esac
"""


def test_a_machine_with_two_gpus(nowhere: Path) -> None:
    _executable(nowhere / "bin" / "nvidia-smi", SMI)
    found = environment.machine()
    assert (found.driver, found.cuda, found.compute_capability) == ("580.159.04", "13.0", (9, 0))
    assert found.gpus[0] == environment.Gpu(0, "NVIDIA H200", (9, 0), 345.0, 3201.0, 1980.0, 3201.0)
    assert found.gpus[1].max_sm_mhz is None


def test_a_machine_without_one(nowhere: Path) -> None:
    assert environment.machine() == environment.Machine()
    failing = "#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n"
    _executable(nowhere / "bin" / "nvidia-smi", failing)
    assert environment.machine() == environment.Machine()
    assert environment.machine().compute_capability is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ResmanDebugLevel: 5\nRmProfilingAdminOnly: 1\n", True),
        ("RmProfilingAdminOnly: 0\n", False),
    ],
)
def test_who_may_read_counters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: bool
) -> None:
    path = tmp_path / "params"
    monkeypatch.setattr(environment, "_PARAMETERS", path)
    assert environment.counters_are_for_administrators() is None
    path.write_text(text, encoding="ascii")
    assert environment.counters_are_for_administrators() is expected


@pytest.mark.parametrize(
    ("held", "expected"),
    [("000001ffffffffff", True), ("00000000a80425fb", False), ("0000000000200000", True)],
)
def test_a_containers_root_is_no_administrator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: str, expected: bool
) -> None:
    path = tmp_path / "status"
    path.write_text(f"Name:\tpython\nCapEff:\t{held}\n", encoding="ascii")
    monkeypatch.setattr(environment, "_STATUS", path)
    assert environment.is_administrator() is expected


def test_nothing_prepares_sources_where_nothing_offers_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_PACKAGE", "kernelprof.no_such_package")
    assert source.preparer() is None
