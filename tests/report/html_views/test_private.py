"""What reports leave out of the machine that they were made on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.report.html_views.helpers import page_of, text_of

from kernelprof.report.private import file_name, shown_origin, without_homes
from kernelprof.report.writers import html
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/joe/src/app", "~/src/app"),
        ("-I/home/joe/include -o x", "-I~/include -o x"),
        ("--export=/Users/jane.doe/a b", "--export=~/a b"),
        (r"C:\Users\Jane Doe\app.exe", r"~\app.exe"),
        (r'{"path": "C:\\Users\\joe\\app"}', r'{"path": "~\\app"}'),
        ("/root/app /root", "~/app ~"),
        ("-I/root/include", "-I~/include"),
        ("/opt/cuda/bin/ncu", "/opt/cuda/bin/ncu"),
        ("/rooted /opt/root/x home/joe", "/rooted /opt/root/x home/joe"),
        ("sgemm(float const*, /*home*/ int)", "sgemm(float const*, /*home*/ int)"),
    ],
)
def test_home_folders_become_a_tilde(text: str, shown: str) -> None:
    assert without_homes(text) == shown


@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        ("/data/runs/capture.csv", "capture.csv"),
        ("runs/capture.csv", "runs/capture.csv"),
        ("../../joe/capture.csv", "capture.csv"),
        (r"D:\runs\capture.csv", "capture.csv"),
        ("/data/a.csv + /data/b.csv", "a.csv + b.csv"),
        ("-", "-"),
        ("/", "/"),
    ],
)
def test_a_capture_is_called_by_its_file(origin: str, shown: str) -> None:
    assert shown_origin(origin) == shown


def test_the_last_part_of_a_path_is_its_name() -> None:
    assert file_name("/usr/bin/python3.12") == "python3.12"
    assert file_name("./gemm_series") == "./gemm_series"


def test_a_page_tells_no_home_and_no_host(naive_folder: Path) -> None:
    home = "/home/somebody"
    capture = read_capture(naive_folder)
    capture = replace(
        capture,
        origin=f"{home}/secret/capture",
        application=f"{home}/app",
        warnings=(f"{home}/x is odd",),
        text={**capture.text, "process": (f"{home}/app",)},
        launches=tuple(replace(each, host="the-host") for each in capture.launches),
    )
    manifest = read_manifest(naive_folder)
    assert manifest.source is not None
    source = replace(manifest.source, path=f"{home}/k.cu", compile_flags=(f"-I{home}/inc",))
    runs = tuple(replace(run, command=(*run.command, f"{home}/app")) for run in manifest.runs)
    manifest = replace(manifest, target=(f"{home}/app",), source=source, runs=runs)
    page = page_of(capture, manifest=manifest)
    document = page.document
    text = text_of(document) + html.write(document)
    assert "somebody" not in text
    assert "the-host" not in text
    assert document.origin == "capture"
    assert json.loads(document.data)["captures"][0]["origin"] == "capture"
    assert page.commands[0].endswith("~/app")
    facts = page.provenance
    assert (facts["source"], facts["program"], facts["target"]) == ("k.cu", "app", "~/app")
