"""What a user may try between installing kernelprof and the first answer, and what is printed."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from kernelprof import installation
from kernelprof.collect import doctor
from kernelprof.installation import find_installation

UV = "home = /usr/bin\nuv = 0.8.3\n"
RECEIPT = 'tool.requirements = [{ name = "kernelprof", extras = ["rep"] }]\n'
CHECKOUT = {"url": "file:///src/kernel%20prof", "dir_info": {"editable": True}}
GIT = {"url": "https://example.org/k.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (({}, "beside", None), "pip install 'kernelprof[predict]'"),
        (({}, "elsewhere", None), "{python} -m pip install 'kernelprof[predict]'"),
        (({"pyvenv.cfg": UV}, "beside", None), "pip install 'kernelprof[predict]'"),
        (
            ({"pyvenv.cfg": UV}, None, None),
            "uv pip install --python {python} 'kernelprof[predict]'",
        ),
        (({"uv-receipt.toml": RECEIPT}, None, None), "uv tool install 'kernelprof[predict,rep]'"),
        (
            ({"pipx_metadata.json": "{}"}, None, None),
            "pipx runpip kernelprof install 'kernelprof[predict]'",
        ),
        (({}, "beside", CHECKOUT), "pip install -e '/src/kernel prof[predict]'"),
        (
            ({}, "beside", GIT),
            "pip install 'kernelprof[predict] @ git+https://example.org/k.git'",
        ),
    ],
    ids=["pip", "not activated", "uv with pip", "uv", "uv tool", "pipx", "checkout", "git"],
)
def test_a_hint_installs_as_kernelprof_was_installed(tmp_path, monkeypatch, case, expected) -> None:
    files, pip, origin = case
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    python = tmp_path / "bin" / "python"
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(python))
    pips = {"beside": str(tmp_path / "bin" / "pip"), "elsewhere": "/usr/bin/pip"}
    monkeypatch.setattr(installation.shutil, "which", lambda _: pips.get(pip))
    monkeypatch.setattr(installation.util, "find_spec", lambda _: pip)
    record = SimpleNamespace(read_text=lambda _: json.dumps(origin) if origin else None)
    monkeypatch.setattr(metadata, "distribution", lambda _: record)
    here = find_installation.__wrapped__()
    assert here.add_extra("predict") == expected.format(python=python)


def test_packages_are_added_beside_kernelprof() -> None:
    assert installation.Installation().add_packages("a", "b") == "pip install a b"
    tool = installation.Installation("uv tool install", extras=("rep",))
    assert tool.add_packages("a") == "uv tool install 'kernelprof[rep]' --with a"


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ({"ncu_report"}, "the package ncu-report, which is installed, reads reports (.ncu-rep)"),
        (set(), "need the package ncu-report: pip install 'kernelprof[rep]'"),
    ],
)
def test_doctor_looks_for_the_reader_of_reports(
    kernelprof, monkeypatch, installed, expected
) -> None:
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: name in installed or None)
    monkeypatch.setattr(doctor, "_pycuda", lambda: (False, "not installed"))
    kernelprof("doctor", says=expected)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("ready", "command"),
    [
        (doctor.NEEDED_FOR_SOURCES, "kernelprof diagnose kernel.cu"),
        (("gpu", "ncu", "predict"), "kernelprof diagnose -- ./app"),
        (("gpu", "predict"), "kernelprof diagnose kernel.cu --predict"),
        ((), "kernelprof diagnose capture.csv"),
    ],
)
def test_doctor_ends_with_the_first_command(kernelprof, monkeypatch, ready, command) -> None:
    for name in ("gpu", "ncu", "counters", "nvcc", "pycuda"):
        there = name in ready or (None if name == "counters" and "ncu" in ready else False)
        monkeypatch.setattr(doctor, f"_{name}", lambda *_, there=there: (there, "as told"))
    monkeypatch.setattr(doctor, "_prediction", lambda: ("predict" in ready, "as told"))
    assert kernelprof("doctor").out.endswith(f"\n\nStart with: {command}\n")
