"""Reports: through ncu, through NVIDIA's package, or a message that names both ways."""

from __future__ import annotations

import gzip
import io
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from kernelprof.errors import ExitCode, InputError, MissingToolError
from kernelprof.sources import read_capture
from kernelprof.sources.ncu import report_package
from kernelprof.sources.ncu.report_package import PackagedReport

if TYPE_CHECKING:
    from pathlib import Path

REPORT = b"NVR\x00" + bytes(60)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "named-anything"
    path.write_bytes(REPORT)
    return path


@pytest.fixture
def without_ncu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELPROF_NCU", raising=False)
    monkeypatch.setenv("PATH", "")


@pytest.fixture
def by_the_package(without_ncu: None) -> None:
    """No ncu here, but NVIDIA's reader."""
    del without_ncu
    pytest.importorskip("ncu_report")


def _tool(tmp_path: Path, script: str) -> str:
    path = tmp_path / "ncu-stand-in"
    path.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_through_ncu(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: Any, captures: Path
) -> None:
    export = captures / "gemm_series.eight-metrics.raw.csv"
    asked = ["--import", str(report), "--csv", "--page", "raw", "--print-units", "base"]
    script = f"assert sys.argv[1:] == {asked!r}, sys.argv\nprint(open({str(export)!r}).read())"
    monkeypatch.setenv("KERNELPROF_NCU", _tool(tmp_path, script))
    capture = read_capture(report)
    assert capture.origin == str(report)
    same(capture, read_capture(export))


def test_what_ncu_says_about_a_damaged_report(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "print('==ERROR== Failed to load report file'); sys.exit(1)"
    monkeypatch.setenv("KERNELPROF_NCU", _tool(tmp_path, script))
    with pytest.raises(InputError, match="Failed to load report file"):
        read_capture(report)


def test_an_ncu_that_does_not_run(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELPROF_NCU", str(report.parent / "absent"))
    with pytest.raises(MissingToolError, match="KERNELPROF_NCU does not name a program") as raised:
        read_capture(report)
    assert raised.value.where == str(report.parent / "absent")


@pytest.mark.usefixtures("without_ncu")
def test_neither_ncu_nor_the_package(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(MissingToolError) as caught:
        read_capture(report)
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert caught.value.hint is not None
    assert "kernelprof[rep]" in caught.value.hint
    assert "ncu --import report.ncu-rep --csv --page raw > capture.csv" in caught.value.hint


@pytest.mark.usefixtures("by_the_package")
@pytest.mark.parametrize("name", ["fixture_basic", "fixture_sections"])
def test_the_package_reads_what_ncu_exports(name: str, captures: Path) -> None:
    report = read_capture(captures / f"{name}.ncu-rep")
    export = read_capture(captures / f"{name}.base-units.raw.csv")
    assert [(one.id, one.kernel, one.grid, one.block) for one in report.launches] == [
        (one.id, one.kernel, one.grid, one.block) for one in export.launches
    ]
    for ours, theirs in zip(report.launches, export.launches, strict=True):
        assert (ours.context, ours.stream, ours.device) == ("1", theirs.stream, "0")
        assert ours.compute_capability == (9, 0)
    assert set(report.columns) == set(export.columns)
    assert report.text == export.text
    for metric, column in report.columns.items():
        values = export.columns[metric].values
        np.testing.assert_allclose(column.values, values, rtol=1e-9, atol=0.0051, err_msg=metric)
        assert column.source is export.columns[metric].source


@pytest.mark.usefixtures("by_the_package")
def test_a_cut_report(captures: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.ncu-rep"
    path.write_bytes((captures / "fixture_basic.ncu-rep").read_bytes()[:5000])
    with pytest.raises(InputError):
        read_capture(path)


@pytest.mark.usefixtures("by_the_package")
def test_a_compressed_report(captures: Path, tmp_path: Path, same: Any) -> None:
    plain = captures / "fixture_basic.ncu-rep"
    packed = tmp_path / "fixture.ncu-rep.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    capture = read_capture(packed)
    assert capture.origin == str(packed)
    assert capture.warnings == ()
    same(capture, read_capture(plain))


@pytest.mark.usefixtures("by_the_package")
@pytest.mark.parametrize("packed", [False, True])
def test_a_report_on_standard_input(captures: Path, same: Any, packed: bool) -> None:
    plain = captures / "fixture_basic.ncu-rep"
    data = gzip.compress(plain.read_bytes(), 1) if packed else plain.read_bytes()
    capture = read_capture("-", stdin=io.BytesIO(data))
    assert capture.origin == "<stdin>"
    same(capture, read_capture(plain))


@pytest.mark.usefixtures("by_the_package")
@pytest.mark.parametrize("packed", [False, True])
def test_a_damaged_report_is_called_as_it_was_given(tmp_path: Path, packed: bool) -> None:
    """Not by the name of the file that it was unpacked into."""
    path = tmp_path / "damaged.ncu-rep.gz"
    path.write_bytes(gzip.compress(REPORT) if packed else REPORT)
    with pytest.raises(InputError, match="contains no launch, or is damaged") as raised:
        read_capture(path)
    assert raised.value.where == str(path)


def test_through_ncu_a_compressed_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same: Any, captures: Path
) -> None:
    """ncu wants a file that is not compressed."""
    export = captures / "gemm_series.eight-metrics.raw.csv"
    script = (
        f"assert open(sys.argv[2], 'rb').read() == {REPORT!r}, sys.argv\n"
        f"print(open({str(export)!r}).read())"
    )
    monkeypatch.setenv("KERNELPROF_NCU", _tool(tmp_path, script))
    packed = tmp_path / "report.ncu-rep.gz"
    packed.write_bytes(gzip.compress(REPORT))
    capture = read_capture(packed)
    assert capture.origin == str(packed)
    same(capture, read_capture(export))


def test_a_reader_that_fails_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged report may open, and fail where its metrics are asked for."""

    class Broken:
        def num_ranges(self) -> int:
            raise TypeError("in method 'IAction_metric_by_name', argument 2 of type 'char const *'")

    package = ModuleType("ncu_report")
    package.load_report = lambda _: Broken()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ncu_report", package)
    answered = msgspec.msgpack.decode(report_package.answer(b"x"), type=PackagedReport)
    assert answered.problem.startswith("the report cannot be opened: in method")


@pytest.fixture
def damaged(by_the_package: None, captures: Path, tmp_path: Path) -> Path:
    """A report whose parser aborts."""
    del by_the_package
    path = tmp_path / "damaged.ncu-rep"
    path.write_bytes(gzip.decompress((captures / "damaged.ncu-rep.gz").read_bytes()))
    return path


def test_a_report_that_aborts_its_parser_is_an_error_of_that_file(
    damaged: Path, captures: Path
) -> None:
    reason = "NVIDIA's reader did not finish reading the report: it was killed by SIGABRT"
    with pytest.raises(InputError, match=reason) as caught:
        read_capture(damaged)
    assert caught.value.where == str(damaged)
    assert len(read_capture(captures / "fixture_basic.ncu-rep").launches) > 0
