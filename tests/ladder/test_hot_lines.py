"""Samples by source line of a rung travel with its capture, without a folder in their names."""

from __future__ import annotations

import os
from pathlib import Path

from kernelprof.cli.main import main
from kernelprof.sources.capture_directory import read_lines, read_manifest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tests" / "captures" / "source_page" / "shared_tile.samples.csv.gz"


def test_samples_by_source_line_travel_with_a_capture(machine, workshop, monkeypatch) -> None:
    del workshop
    page = f'zcat {PAGE} | sed "s#/project#{ROOT}#"'
    usual = f'exec {os.environ["KERNELPROF_NCU"]} "$@"'
    ncu = machine.parent / "other-ncu"
    ncu.write_text(
        f'#!/bin/sh\ncase "$*" in *--page\\ source*) {page}; exit ;; esac\n{usual}\n',
        encoding="utf-8",
    )
    ncu.chmod(0o755)
    monkeypatch.setenv("KERNELPROF_NCU", str(ncu))
    assert main(["ladder", "run", "--rung", "3", "--captures", "caps"]) == 0
    folder = machine / "caps" / "03_shared_tile"
    names = sorted(each.name for each in folder.iterdir())
    assert names == ["code.json.gz", "lines.csv.gz", "manifest.json", "raw.csv.gz"]
    manifest = read_manifest(folder)
    assert manifest.runs[0].lines == "lines.csv.gz"
    lines = read_lines(folder, manifest)
    assert lines is not None
    assert {each.file for each in lines} == {"cuda/ladder/03_shared_tile.cu"}
    assert {each.line: each.samples for each in lines}[88] == 1_386_212
