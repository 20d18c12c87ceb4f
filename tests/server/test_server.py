"""Sessions with the server by the SDK's own client, over standard input and output."""

from __future__ import annotations

import json
import re
import shutil
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import jsonschema
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from kernelprof.report.writers import DEFAULT_TOKENS
from kernelprof.report.writers.json import schema

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

ROOT = Path(__file__).parents[2]
NAIVE = "cuda/ladder/01_naive.cu"
SWAPS = (
    ("ceil_div(M, BLOCK)", "ceil_div(N, BLOCK)"),
    ("blockIdx.x * BLOCK + threadIdx.x", "blockIdx.y * BLOCK + threadIdx.y"),
)
"""What the second rung changes: threadIdx.x runs along the columns."""


class Session:
    """What a language model does with the server."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, tool: str, **given: Any) -> str:
        """The answer of a tool, which fits its budget."""
        told = await self._call(tool, given)
        assert not told.is_error, told
        text = self._text(told)
        assert len(text.encode()) <= 4 * given.get("tokens", DEFAULT_TOKENS)
        return text

    async def refused(self, tool: str, **given: Any) -> str:
        told = await self._call(tool, given)
        assert told.is_error, told
        text = self._text(told)
        assert len(text.encode()) < 2_000
        assert "Traceback" not in text
        return text

    async def read(self, address: str) -> str:
        (found,) = (await self.client.read_resource(address)).contents
        return str(getattr(found, "text", ""))

    async def _call(self, tool: str, given: dict[str, Any]) -> Any:
        return await self.client.call_tool(tool, given)

    @staticmethod
    def _text(told: Any) -> str:
        (content,) = told.content
        return str(content.text)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a model works, on a machine without ``ncu``."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def talk(work: Path, cli_environment: dict[str, str]) -> Callable[..., None]:
    @asynccontextmanager
    async def session(*arguments: str, **environment: str) -> AsyncIterator[Session]:
        started = StdioServerParameters(
            command=sys.executable,
            args=["-m", "kernelprof", "mcp", *arguments],
            env={**cli_environment, "KERNELPROF_NCU": "/no/such/ncu", **environment},
            cwd=work,
        )
        async with Client(stdio_client(started)) as client:
            yield Session(client)

    def run(said: Callable[[Session], Awaitable[None]], *arguments: str, **given: str) -> None:
        async def all_of_it() -> None:
            with anyio.fail_after(240):
                async with session(*arguments, **given) as each:
                    await said(each)

        anyio.run(all_of_it)

    return run


@pytest.mark.slow("six predictions of a GEMM")
def test_a_session_finds_and_fixes_the_naive_gemm_by_the_recorded_ladder(
    talk: Callable[..., None], work: Path
) -> None:
    source = (ROOT / NAIVE).read_text("utf-8")

    def fixed(text: str) -> str:
        for one, other in SWAPS:
            assert text.count(one) == text.count(other) == 1
            text = text.replace(one, "\0").replace(other, one).replace("\0", other)
        return text

    async def said(model: Session) -> None:
        listed = await model.ask("list_recorded")
        assert f"- {NAIVE} (uncoalesced-global-access): " in listed
        found = await model.ask("diagnose", target=NAIVE)
        assert "275.9 ms. Limited by uncoalesced-global-access. Confidence: high." in found
        assert "Map threadIdx.x to the dimension that is contiguous in memory" in found
        page = await model.ask("explain", name="uncoalesced-global-access", tokens=400)
        assert "With row = threadIdx.x, C[row * N + col]" in page
        (work / "naive.cu").write_text(source, encoding="utf-8")
        (work / "fixed.cu").write_text(fixed(source), encoding="utf-8")
        after = await model.ask("predict", source="fixed.cu")
        assert "Limited by uncoalesced" not in after
        assert "not measured" in after
        judged = await model.ask("gate", baseline="naive.cu", candidate="fixed.cu")
        assert judged.startswith("kernelprof gate: pass\n")
        assert "pass `counter-better`: global sectors: 70,883,737,600 to 10,739,515,392" in judged
        back = await model.ask("gate", baseline="fixed.cu", candidate="naive.cu")
        assert back.startswith("kernelprof gate: regression\n")
        # What the fix did on a GPU, the ladder has.
        did = await model.ask("compare", before=NAIVE, after="cuda/ladder/02_coalesced.cu")
        assert "12.1x faster; uncoalesced-global-access is gone; now l1-throughput" in did
        address = re.findall(r"kernelprof://\S+/json", found)[0]
        whole = json.loads(await model.read(address))
        jsonschema.validate(whole, json.loads(schema()))
        assert whole["kernels"][0]["verdict"]["bottleneck"] == "uncoalesced-global-access"
        assert "### kernelprof gate: pass" in await model.read(
            re.findall(r"kernelprof://\S+/markdown", judged)[0]
        )

    talk(said)


@pytest.mark.slow("asks a server many times")
def test_what_is_wrong_is_an_answer_that_says_why(talk: Callable[..., None], work: Path) -> None:
    source = (ROOT / "examples" / "matvec.cu").read_text("utf-8")
    wrong = source.replace("sum += A[row * N + k] * x[k];", "sum += A[row * N + k] + x[k];")
    assert wrong != source
    (work / "wrong.cu").write_text(wrong, encoding="utf-8")
    (work / "broken.cu").write_text(source.replace("float sum", "flat sum"), encoding="utf-8")
    (work / "text.csv").write_text("no capture\n", encoding="utf-8")

    async def said(model: Session) -> None:
        told = await model.refused("predict", source="wrong.cu")
        assert "gemv" in told
        assert "flat" in await model.refused("predict", source="broken.cu")
        assert "next: " in await model.refused("diagnose", target="text.csv")
        assert "no bottleneck is called" in await model.refused("explain", name="slow")
        assert "sgemm, bf16, pairs" in await model.refused("list_recorded", which="none")
        assert "sm_90" in await model.refused("predict", source="wrong.cu", arch="sm_1")
        await model.refused("diagnose", target="/etc/passwd")
        await model.refused("compare", before="wrong.cu", after="broken.cu")
        with pytest.raises(MCPError, match="there is no result 9"):
            await model.read("kernelprof://results/9/json")
        # It goes on after all of that.
        assert "Bottlenecks" in await model.ask("explain")
        assert "ncu --set full" in await model.ask("next_measurement", program=["./a b"])

    talk(said)


@pytest.mark.slow("asks a server many times")
def test_answers_stay_in_the_size_that_is_asked_for(talk: Callable[..., None]) -> None:
    folder = str(ROOT / "tests" / "captures")
    name = "gemm_series.eight-metrics.raw.csv"

    async def said(model: Session) -> None:
        for tokens in (240, 500, 2_000):
            found = await model.ask("diagnose", target=name, tokens=tokens)
            assert "1 gemm_bad 32x32\n" in found
        commands = await model.ask("next_measurement", target=name)
        assert (
            "To get a verdict for 26 kernels:\nncu --set full --kernel-name 'regex:^(" in commands
        )
        only = await model.ask("diagnose", target=name, kernel="spill")
        assert "1 spill\n" in only
        assert "gemm_bad" not in only

    talk(said, folder)


@pytest.mark.slow("asks a server many times")
def test_no_program_is_run_that_was_not_allowed(
    talk: Callable[..., None], work: Path, captures: Path
) -> None:
    """A report is read by ``ncu`` where there is one, and a reference may be Python."""
    ncu, ran = work.parent / "ncu", work.parent / "ran"
    ncu.write_text(f"#!/bin/sh\necho ncu >> {ran}\nexit 1\n", encoding="utf-8")
    ncu.chmod(0o755)
    shutil.copy(captures / "fixture_basic.ncu-rep", work / "report.csv")
    source = (ROOT / "examples" / "matvec.cu").read_text("utf-8")
    (work / "ours.py").write_text(
        f"open({str(ran)!r}, 'a').write('python\\n')\ndef f(A, x): return A @ x\n", encoding="utf-8"
    )
    (work / "k.cu").write_text(source.replace('"gemv"', '"ours:f"'), encoding="utf-8")

    async def refused(model: Session) -> None:
        await model.client.call_tool("diagnose", {"target": "report.csv"})
        for tool in ("predict", "diagnose", "gate"):
            key = {"predict": "source", "diagnose": "target"}.get(tool, "baseline")
            given = {key: "k.cu", **({"candidate": "k.cu"} if tool == "gate" else {})}
            told = await model.refused(tool, **given)
            assert "Python function (ours:f)" in told
            assert "--allow-run" in told
        tools = (await model.client.list_tools()).tools
        assert all(each.annotations and each.annotations.read_only_hint for each in tools)

    talk(refused, KERNELPROF_NCU=str(ncu))
    assert not ran.exists()

    async def allowed(model: Session) -> None:
        await model.client.call_tool("diagnose", {"target": "report.csv"})
        assert "Limited by uncoalesced-global-access" in await model.ask("predict", source="k.cu")

    talk(allowed, "--allow-run", KERNELPROF_NCU=str(ncu))
    assert set(ran.read_text("utf-8").split()) == {"ncu", "python"}


def test_without_the_package_the_command_that_brings_it_is_named(
    monkeypatch: pytest.MonkeyPatch, kernelprof
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    kernelprof("mcp", code=4, out="", err="next: pip install 'kernelprof[mcp]'\n")


def test_a_folder_that_is_not_there_is_an_error(kernelprof) -> None:
    kernelprof("mcp no-such-folder", code=2, err="there is no such folder")
