"""What docs/fleet.md says: a newcomer's commands, the columns, the keys of a plan."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from tests.fleet.conftest import ROOT

from kernelprof.fleet.columns import COLUMNS, LIGHT, schema
from kernelprof.fleet.plan import read_plan
from kernelprof.fleet.records import Provenance

if TYPE_CHECKING:
    from pathlib import Path


PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")


@pytest.mark.exhaustive("compiles the kernels of five rungs")
def test_a_newcomers_commands(run_cli, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    block = PAGE.partition("## Without a GPU")[2].partition("```sh\n")[2].partition("```")[0]
    first, second, status, query = (
        [word.replace("build/fleet", str(tmp_path / "store")) for word in shlex.split(line)][1:]
        for line in block.splitlines()
    )
    runs = [run_cli(*words, "--format", "json", cwd=ROOT) for words in (first, second)]
    done = [[each["done"] for each in json.loads(run.stdout)["jobs"]] for run in runs]
    assert sorted(done[0]) == ["recorded"] * 5 + ["same"]
    assert sorted(done[1]) == ["same"] + ["unchanged"] * 5
    held = run_cli(*status, cwd=ROOT)
    assert "6 jobs, 0 of them not stored. Jobs with only recorded captures: 6." in held.stdout
    asked = run_cli(*query, "--format", "json", cwd=ROOT)
    rows = json.loads(asked.stdout)["rows"]
    assert [row[0] for row in rows] == ["sgemm_naive", "sgemm_coalesced", "sgemm_shared_tile"]


def test_the_list_of_columns_is_the_one_that_the_schema_comes_from() -> None:
    types = {each.name: "" if each.type == "string" else f" (`{each.type}`)" for each in COLUMNS}
    rows = (f"- `{each.name}`{types[each.name]}: {each.meaning}" for each in COLUMNS)
    listed = "\n".join(row.removesuffix(": ") for row in rows)
    assert f"\n{listed}\n" in PAGE.partition("## Store")[2].partition("## Queries")[0]
    assert set(LIGHT) < set(schema().names)
    names = [each.source.removeprefix("job.") for each in COLUMNS if each.source[:4] == "job."]
    assert names == [each.name for each in fields(Provenance)]


def test_the_plan_on_the_page_can_be_read(tmp_path: Path) -> None:
    text = PAGE.partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "plans" / "kernels").mkdir(parents=True)
    (tmp_path / "captures").mkdir()
    for name in ("softmax", "gemm_old", "gemm_new"):
        (tmp_path / "plans" / "kernels" / f"{name}.cu").write_text("", encoding="utf-8")
    path = tmp_path / "plans" / "plan.toml"
    path.write_text(text, encoding="utf-8")
    plan = read_plan(path)
    assert (plan.gpus, plan.retries) == (("H200", "B200"), 2)
    kinds = [job.kind for job in plan.jobs]
    assert kinds.count("program") == 1
    # Two sizes and three sets of defines, three times; two sides, twice.
    assert sum(job.name == "kernels/softmax.cu" for job in plan.jobs) == 18
    assert sum(job.against is not None for job in plan.jobs) == 4
