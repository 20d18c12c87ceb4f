"""The store: whole files or none, what is in one, and what is left out."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.fleet.conftest import RECORDED

from kernelprof.analysis.verdict import diagnose
from kernelprof.errors import InputError
from kernelprof.fleet.columns import schema
from kernelprof.fleet.records import MeasurementFile, Provenance, record
from kernelprof.fleet.store import FleetStore, StoreError
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

KEY = "a" * 64


@pytest.fixture(scope="module")
def capture() -> Capture:
    return read_capture(str(RECORDED / "01_naive"))


@pytest.fixture(scope="module")
def made(capture: Capture) -> MeasurementFile:
    manifest = read_manifest(RECORDED / "01_naive")
    about = Provenance(key=KEY, plan="nightly", name="01_naive.cu", kind="source")
    return record(capture, diagnose(capture), manifest, about)


def test_a_row_has_all_that_the_capture_has(made: MeasurementFile, capture: Capture) -> None:
    table = pq.read_table(io.BytesIO(made.data), schema=schema())
    (row,) = table.to_pylist()
    manifest = read_manifest(RECORDED / "01_naive")
    assert manifest.timing is not None
    assert row["times_ns"] == list(manifest.timing.times_ns)
    assert row["timed_by"] == "CUDA events"
    assert row["durations_ns"] == list(capture.columns["gpu__time_duration.sum"].values)
    assert (row["gpu"], row["bottleneck"]) == ("NVIDIA H200", "uncoalesced-global-access")
    stored = dict(row["metrics"])
    known = {
        name: [float(each) for each in column.values]
        for name, column in capture.columns.items()
        if not name.startswith("kernelprof__") and column.values[0] == column.values[0]
    }
    assert stored == known
    assert len(stored) > 200


def test_what_is_stored_is_found_by_its_key(store: FleetStore, made: MeasurementFile) -> None:
    assert store.find(KEY) == (None, ())
    name = store.add(made)
    assert name.startswith(f"kernels/gpu=NVIDIA-H200/month=2026-11/{KEY}.20261121T132355Z-")
    again = FleetStore(store.backend)
    assert again.find(KEY) == (name, ())
    assert again.find("b" * 64) == (None, ())
    assert again.open(name).metadata.num_rows == 1


def test_an_object_store_holds_the_same(made: MeasurementFile) -> None:
    store = FleetStore.at("memory://fleet-test/store")
    name = store.add(made)
    assert FleetStore(store.backend).find(KEY) == (name, ())
    assert store.backend.read(name) == made.data


@pytest.mark.parametrize("left", [0, 10, -1])
def test_a_torn_file_is_told_and_not_taken_for_a_measurement(store, made, left) -> None:
    torn = Path(store.backend.path(store.add(made)))
    torn.write_bytes(made.data[:left])
    name, damaged = FleetStore(store.backend).find(KEY)
    assert name is None
    assert [each.file for each in damaged] == [str(torn)]
    whole = store.add(made)
    assert FleetStore(store.backend).find(KEY)[0] == whole


def test_a_file_without_a_checksum_is_read_to_its_end(store, made) -> None:
    path = Path(store.backend.path(store.add(made)))
    table = pq.read_table(io.BytesIO(made.data))
    version = {"kernelprof": json.dumps({"schema_version": "1"})}
    pq.write_table(table.replace_schema_metadata(version), path, compression="zstd")
    assert FleetStore(store.backend).find(KEY)[0] is not None
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[100:middle] = bytes(middle - 100)
    path.write_bytes(data)
    name, damaged = FleetStore(store.backend).find(KEY)
    assert (name, [each.file for each in damaged]) == (None, [str(path)])


def test_a_changed_value_is_damage(store: FleetStore, made: MeasurementFile) -> None:
    path = Path(store.backend.path(store.add(made)))
    data = bytearray(made.data)
    data[data.index(b"01_naive.cu")] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="its data is damaged"):
        store.open(store.names()[0])


def test_files_of_something_else_are_told(store: FleetStore, made: MeasurementFile) -> None:
    name = store.add(made)
    path = Path(store.backend.path(name))
    pq.write_table(pa.table({"key": [KEY]}), path)
    with pytest.raises(InputError, match="not a Parquet file written by kernelprof"):
        store.open(name)
    stranger = path.with_name("other.parquet")
    stranger.write_bytes(made.data)
    assert [each.file for each in FleetStore(store.backend).foreign_files()] == [str(stranger)]
    assert FleetStore(store.backend).names() == [name]


def test_what_cannot_be_written_leaves_nothing(store, made, monkeypatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kernelprof.fleet.store.os.fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        store.add(made)
    assert [each for each in Path(store.backend.path("")).rglob("*") if each.is_file()] == []
