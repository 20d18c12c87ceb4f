"""The example notebook runs from its first cell to its last, and its diagnosis is the known one."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
SECONDS_PER_CELL = 120
_SHOWN = """\
import kernelprof
kernelprof.read("../src/kernelprof/recorded/h200/03_shared_tile").diagnose()"""
_ASKED = 'print(table[["kernel", "status", "bottleneck"]].to_json(orient="values"))'


def read_notebook() -> Any:
    return nbformat.read(ROOT / "examples/notebook.ipynb", as_version=4)


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = read_notebook()
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.slow("starts a Jupyter kernel")
def test_every_cell_runs_and_the_diagnosis_is_the_expected_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(ROOT / "src"), str(ROOT))))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = read_notebook()
    notebook.cells += map(nbformat.v4.new_code_cell, (_SHOWN, _ASKED))
    NotebookClient(
        notebook,
        timeout=SECONDS_PER_CELL,
        kernel_name="python3",
        resources={"metadata": {"path": str(ROOT / "examples")}},
    ).execute()

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert [output for output in outputs if output.output_type == "error"] == []

    rows = json.loads(code[-1].outputs[0].text)
    bad = [(status, bottleneck) for kernel, status, bottleneck in rows if "gemm_bad(" in kernel]
    assert len(bad) == 2
    assert set(bad) == {("bottleneck", "uncoalesced-global-access")}

    (shown,) = code[-2].outputs
    page = html.unescape(shown.data["text/html"])
    for part in (
        "Limited by shared-memory-throughput",
        'data-chart="memory"',
        'data-chart="roofline"',
        "<svg",
        "First: ",
    ):
        assert part in page, part
    assert "<script" not in page
    assert "uncoalesced" not in page
