"""What must hold for any capture: less evidence never turns one answer into another."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.analysis.verdict.support import CAPTURES, INCONCLUSIVE, answers, by_row
from tests.support.captures import captured
from tests.support.few import few

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.sources import read_bytes

if TYPE_CHECKING:
    from tests.analysis.verdict.support import Answer

    from kernelprof.model.capture import Capture

MANY_METRICS = [
    "gemm_series.full.raw.csv",
    "gemm_series.full.details.csv",
    "validation/raw.csv.gz",
    "validation/more.raw.csv.gz",
    "validation/frameworks.raw.csv.gz",
    "validation/details.csv.gz",
    "bf16/rungs.raw.csv.gz",
    "bf16/tops.raw.csv.gz",
]

RULE_COLUMNS = {name for metric in load_metrics().values() for name in metric.all_ncu_names()}

quick = settings(max_examples=25, deadline=None)


@cache
def full_answers(name: str) -> dict[int, Answer]:
    return answers(captured(name))


def looked_at(name: str) -> list[str]:
    """Columns that can matter: those of the catalogue and those read from sentences."""
    return [c for c in captured(name).columns if c in RULE_COLUMNS or c.startswith("kernelprof__")]


def without(name: str, dropped: set[str]) -> Capture:
    whole = captured(name)
    kept = {key: column for key, column in whole.columns.items() if key not in dropped}
    return replace(whole, columns=kept)


def assert_same_or_inconclusive(name: str, dropped: set[str]) -> None:
    full = full_answers(name)
    for row, answer in answers(without(name, dropped)).items():
        assert answer in (full[row], INCONCLUSIVE), (name, row, sorted(dropped))


@pytest.mark.parametrize("name", few(MANY_METRICS, *MANY_METRICS[1::2], why="captures alike"))
@quick
@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from([0.02, 0.1, 0.3, 0.7]))
@example(seed=262144, share=0.3)
def test_any_columns_removed_leave_the_same_answer_or_none(
    name: str, seed: int, share: float
) -> None:
    rng = random.Random(seed)
    dropped = {column for column in looked_at(name) if rng.random() < share}
    assert_same_or_inconclusive(name, dropped)


@pytest.mark.parametrize(
    "name",
    few(
        ["gemm_series.full.raw.csv", "gemm_series.full.details.csv", "bf16/tops.raw.csv.gz"],
        "bf16/tops.raw.csv.gz",
        why="the same launches on another page",
    ),
)
def test_each_single_column_removed_leaves_the_same_answer_or_none(name: str) -> None:
    for column in looked_at(name):
        assert_same_or_inconclusive(name, {column})


def test_without_any_metric_every_launch_is_inconclusive() -> None:
    name = "gemm_series.full.raw.csv"
    for kernel in by_row(without(name, set(captured(name).columns))).values():
        assert kernel.verdict.status is Status.INCONCLUSIVE
        assert kernel.verdict.missing
        assert kernel.verdict.command


def test_less_evidence_never_raises_the_confidence() -> None:
    name = "gemm_series.full.raw.csv"
    order = [Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH]
    full = by_row(captured(name))
    for column in ("global_store_requests", "duration", "stall_wait", "l1_hit_rate"):
        less = by_row(without(name, set(load_metrics()[column].all_ncu_names())))
        for row, kernel in less.items():
            before = full[row].verdict.confidence
            assert order.index(kernel.verdict.confidence) <= order.index(before)


class TestTheFileItself:
    """The same table written in another way says the same."""

    SOURCE = "gemm_series.full.raw.csv"

    @staticmethod
    def _cells() -> list[list[str]]:
        text = (CAPTURES / TestTheFileItself.SOURCE).read_text("utf-8")
        return list(csv.reader(io.StringIO(text[text.index('"ID"') :])))

    @staticmethod
    def _write(rows: list[list[str]], delimiter: str = ",", ending: str = "\n") -> bytes:
        out = io.StringIO()
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, delimiter=delimiter, lineterminator=ending)
        writer.writerows(rows)
        return out.getvalue().encode()

    @staticmethod
    def _by_id(data: bytes) -> dict[str, Answer]:
        read = read_bytes(data, "rewritten.csv")
        return {read.launches[row].id: answer for row, answer in answers(read).items()}

    @property
    def expected(self) -> dict[str, Answer]:
        whole = captured(self.SOURCE)
        return {whole.launches[r].id: a for r, a in full_answers(self.SOURCE).items()}

    @settings(max_examples=6, deadline=None)
    @given(
        seed=st.integers(0, 2**32 - 1),
        delimiter=st.sampled_from([",", ";", "\t"]),
        ending=st.sampled_from(["\n", "\r\n"]),
    )
    def test_order_separators_and_line_ends_change_nothing(
        self, seed: int, delimiter: str, ending: str
    ) -> None:
        header, units, *rows = self._cells()
        order = list(range(len(header)))
        rng = random.Random(seed)
        rng.shuffle(order)
        rng.shuffle(rows)
        shuffled = [[row[i] for i in order] for row in (header, units, *rows)]
        assert self._by_id(self._write(shuffled, delimiter, ending)) == self.expected

    @settings(max_examples=6, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1))
    def test_units_change_nothing(self, seed: int) -> None:
        """Each column that has a scaled unit is written in a scale drawn for it."""
        scales = {
            "ms": [("ms", 1.0), ("us", 1e3), ("ns", 1e6), ("s", 1e-3)],
            "Mbyte": [("Mbyte", 1.0), ("Kbyte", 1e3), ("byte", 1e6), ("Gbyte", 1e-3)],
            "Ghz": [("Ghz", 1.0), ("Mhz", 1e3), ("hz", 1e9)],
            "Kbyte/block": [("Kbyte/block", 1.0), ("byte/block", 1e3)],
        }
        header, units, *rows = self._cells()
        rng = random.Random(seed)
        touched = 0
        for column, unit in enumerate(units):
            if unit not in scales:
                continue
            name, factor = rng.choice(scales[unit])
            units[column] = name
            touched += 1
            for row in rows:
                if row[column]:
                    row[column] = repr(float(row[column].replace(",", "")) * factor)
        assert touched > 20
        assert self._by_id(self._write([header, units, *rows])) == self.expected


@pytest.mark.parametrize("capability", [(8, 0), (8, 9), (12, 0), (99, 0), None])
def test_another_architecture_never_fails_and_an_unknown_one_lowers_the_confidence(
    capability: tuple[int, int] | None,
) -> None:
    whole = captured("gemm_series.full.raw.csv")
    moved = replace(
        whole,
        launches=tuple(replace(each, compute_capability=capability) for each in whole.launches),
    )
    kernels = by_row(moved)
    assert len(kernels) == 26
    if capability in ((99, 0), None):
        assert all(k.verdict.confidence is not Confidence.HIGH for k in kernels.values())
        assert kernels[0].verdict.bottleneck == "uncoalesced-global-access"
