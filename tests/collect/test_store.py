"""Capture directories and their manifests."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import hashlib
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from tests.support.manifests import FULL, RUN
from tests.support.schemas import manifest_schema

from kernelprof.analysis.metrics.catalogue import preset
from kernelprof.collect import store
from kernelprof.collect.failures import StorageError
from kernelprof.collect.request import preset_facts
from kernelprof.errors import InputError, UsageError
from kernelprof.model.manifest import (
    CompilerWarning,
    CorrectnessFacts,
    GpuFacts,
    Manifest,
    PresetFacts,
    RunFacts,
    SourceFacts,
    TimingFacts,
    from_json,
)
from kernelprof.model.records import to_json
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from pathlib import Path

LATER = {
    "RunFacts": {"lines", "lines_sha256"},
    "SourceFacts": {"compile_sha256", "includes", "resources", "compiler_warnings"},
    "TimingFacts": {"times_ns", "flops", "min_bytes"},
    "CorrectnessFacts": {"sizes"},
    "Manifest": {"survey", "survey_sha256"},
}
"""Fields that came within version 1: older manifests lack them."""


def _document(manifest: Manifest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(manifest))
    return found


@pytest.mark.parametrize(
    "manifest",
    [FULL, dataclasses.replace(FULL, source=None, timing=None, correctness=None, preset=None)],
)
def test_a_manifest_is_valid_and_read_back(manifest: Manifest) -> None:
    rules = json.loads(manifest_schema())
    jsonschema.Draft202012Validator.check_schema(rules)
    jsonschema.Draft202012Validator(rules).validate(_document(manifest))
    assert from_json(to_json(manifest), "here") == manifest


def test_the_schema_has_just_the_fields_that_there_are() -> None:
    rules = json.loads(manifest_schema())
    parts = (
        *(GpuFacts, RunFacts, PresetFacts, SourceFacts, TimingFacts),
        *(CorrectnessFacts, CompilerWarning),
    )
    kinds: dict[str, Any] = {kind.__name__: kind for kind in parts}
    kinds["Manifest"] = Manifest
    assert set(kinds) == set(rules["$defs"])
    for name, kind in kinds.items():
        described = rules["$defs"][name]
        fields = {field.name for field in dataclasses.fields(kind)}
        assert set(described["properties"]) == fields
        assert set(described["required"]) == fields - LATER.get(name, set())


def test_a_manifest_from_before_the_later_fields_is_valid_and_read() -> None:
    document = _document(FULL)
    for part, name in (("source", "SourceFacts"), ("timing", "TimingFacts")):
        document[part] = {k: v for k, v in document[part].items() if k not in LATER[name]}
    del document["correctness"]["sizes"]
    document["runs"] = [
        {k: v for k, v in run.items() if k not in LATER["RunFacts"]} for run in document["runs"]
    ]
    jsonschema.Draft202012Validator(json.loads(manifest_schema())).validate(document)
    found = from_json(json.dumps(document), "here")
    assert found.timing == TimingFacts(20, 3, 1e6, 9e5, 1.1e6, 9.9e5, 1.01e6)
    assert found.source is not None
    assert found.source.includes is None
    assert (found.runs[0].lines, found.runs[0].lines_sha256) == (None, None)


@pytest.mark.parametrize("version", ["2", "10", None, 1])
def test_another_schema_version_is_refused(version: object) -> None:
    text = json.dumps({**_document(FULL), "schema_version": version})
    with pytest.raises(InputError, match="schema version") as caught:
        from_json(text, "D/manifest.json")
    assert caught.value.where == "D/manifest.json"
    assert "newer kernelprof" in (caught.value.hint or "")


def test_keys_that_are_not_known_are_left_out() -> None:
    text = json.dumps({**_document(FULL), "later": {"a": 1}})
    assert from_json(text, "here") == FULL


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"runs": 5}, "'runs'"),
        ({"created": None}, "'created'"),
        ({"gpu": "H200"}, "'gpu'"),
        ({"runs": [{}]}, "'runs[0].command'"),
        ({"target": ["a", 1]}, "'target[1]'"),
        ({"correctness": {"passed": 1}}, "'correctness.passed'"),
    ],
)
def test_a_mistake_in_a_manifest_is_named(change: dict[str, object], place: str) -> None:
    with pytest.raises(InputError) as caught:
        from_json(json.dumps({**_document(FULL), **change}), "here")
    assert place in caught.value.what


@pytest.mark.parametrize(
    "change",
    [
        {"created": "yesterday"},
        {"schema_version": "2"},
        {"runs": []},
        {"source": {}},
        {"preset": {"name": "full", "sha256": "0"}},
        {"timing": {"median_ns": "1"}},
    ],
)
def test_the_schema_refuses_what_is_never_written(change: dict[str, object]) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(manifest_schema()))
    assert not validator.is_valid({**_document(FULL), **change})
    run = {**_document(FULL)["runs"][0], "raw": "elsewhere/raw.csv.gz"}
    assert not validator.is_valid({**_document(FULL), "runs": [run]})


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_what_is_no_manifest(text: str) -> None:
    with pytest.raises(InputError, match="manifest cannot be read"):
        from_json(text, "here")


def test_the_hash_of_a_preset_follows_its_metrics() -> None:
    full = preset("full")
    fewer = dataclasses.replace(full, metrics=full.metrics[1:])
    turned = dataclasses.replace(full, metrics=full.metrics[::-1], title="other")
    assert preset_facts(full) == preset_facts(turned)
    assert preset_facts(full) != preset_facts(fewer)
    assert preset_facts(full) != preset_facts(dataclasses.replace(full, samples=False))


def _write(folder: Path, page: bytes, *, force: bool = False, **changes: Any) -> Path:
    with store.draft(folder, force=force) as draft:
        name, digest = draft.store("raw", 0, page)
        without = {"report": None, "lines": None, "lines_sha256": None}
        run = dataclasses.replace(RUN, raw=name, raw_sha256=digest, **without, **changes)
        draft.commit(dataclasses.replace(FULL, runs=(run,)))
    return folder


@pytest.fixture
def page(captures: Path) -> bytes:
    return (captures / "four_gemms.full.raw.csv").read_bytes()


def test_a_directory_is_read_as_the_capture_that_it_holds(tmp_path, page, captures) -> None:
    folder = _write(tmp_path / "new" / "out", page, application="/x/app")
    assert sorted(each.name for each in folder.iterdir()) == ["manifest.json", "raw.csv.gz"]
    found = read_capture(folder)
    alone = read_capture(captures / "four_gemms.full.raw.csv")
    assert found.launches == alone.launches
    assert set(found.columns) == set(alone.columns)
    assert found.origin == str(folder)
    # What to run again is the source.
    assert (found.application, found.clock_control) == ("k.cu", "none")
    assert "x__y.sum" in found.unavailable
    assert "A warning." in found.warnings
    assert [each.name for each in (tmp_path / "new").iterdir()] == ["out"]


def test_what_is_there_is_not_written_over(tmp_path: Path, page: bytes) -> None:
    folder = _write(tmp_path / "out", page)
    with pytest.raises(UsageError, match="the path already exists"):
        _write(folder, page)
    before = (folder / "raw.csv.gz").read_bytes()
    _write(folder, page + b"\n", force=True)
    assert (folder / "raw.csv.gz").read_bytes() != before
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_of_two_that_write_one_directory_the_first_is_kept(tmp_path: Path, page: bytes) -> None:
    first = _write(tmp_path / "first", page)
    before = _files(first)

    def late() -> None:
        with store.draft(tmp_path / "out") as draft:
            first.rename(tmp_path / "out")
            draft.commit(FULL)

    with pytest.raises(UsageError, match="the path already exists"):
        late()
    assert _files(tmp_path / "out") == before
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_of_two_that_replace_a_directory_nothing_is_left_over(tmp_path: Path, page: bytes) -> None:
    folder = _write(tmp_path / "out", page)
    with store.draft(folder, force=True) as draft:
        name, digest = draft.store("raw", 0, page)
        draft.folder = draft.folder.rename(tmp_path / ".out.other")  # as of another process
        _write(folder, page + b"\n", force=True)
        run = dataclasses.replace(RUN, raw=name, raw_sha256=digest, lines=None, lines_sha256=None)
        draft.commit(dataclasses.replace(FULL, runs=(run,)))
    assert len(read_capture(folder)) == 4
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def _files(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_an_empty_folder_is_taken_and_a_foreign_one_is_not(tmp_path: Path, page: bytes) -> None:
    (tmp_path / "empty").mkdir()
    _write(tmp_path / "empty", page)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(UsageError, match="is not a capture"):
        _write(tmp_path / "other", page, force=True)
    assert (tmp_path / "other" / "thesis.tex").exists()


def test_a_name_that_ncu_would_change_is_refused(tmp_path: Path, page: bytes) -> None:
    with pytest.raises(UsageError, match="%"):
        _write(tmp_path / "run%i", page)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_what_breaks_off_leaves_nothing(tmp_path, page, error, monkeypatch) -> None:
    def broken(*_: object) -> str:
        raise error

    folder = _write(tmp_path / "out", page)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    monkeypatch.setattr(store, "to_json", broken)
    expected = StorageError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        _write(folder, page, force=True)
    with pytest.raises(expected):
        _write(tmp_path / "second", page)
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before


def test_a_damaged_capture_is_refused(tmp_path: Path, page: bytes) -> None:
    folder = _write(tmp_path / "out", page)
    raw = folder / "raw.csv.gz"
    raw.write_bytes(gzip.compress(page[:-100]))
    with pytest.raises(InputError, match="does not match its hash in the manifest"):
        read_capture(folder)
    raw.unlink()
    with pytest.raises(InputError, match=r"raw\.csv\.gz cannot be read"):
        read_capture(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(InputError, match="this directory is not a capture"):
        read_capture(folder)


def test_a_manifest_cannot_name_a_file_elsewhere(tmp_path: Path, page: bytes) -> None:
    folder = _write(tmp_path / "out", page)
    outside = tmp_path / "outside.csv"
    outside.write_bytes(page)
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    digest = hashlib.sha256(page).hexdigest()
    known = hashlib.sha256((folder / "raw.csv.gz").read_bytes()).hexdigest()
    changed = text.replace('"raw.csv.gz"', '"../outside.csv"').replace(known, digest)
    (folder / "manifest.json").write_text(changed, encoding="utf-8")
    with pytest.raises(InputError, match="its manifest names a file outside the directory"):
        read_capture(folder)
