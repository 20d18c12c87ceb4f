"""Pages built from the shipped captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.report.html_views.helpers import page_of

from kernelprof.collect.recorded import FOLDER
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from tests.report.html_views.helpers import Page

    from kernelprof.model.capture import Capture

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def series_capture(captures: Path) -> Capture:
    return read_capture(captures / "gemm_series.full.raw.csv")


@pytest.fixture(scope="session")
def series(series_capture: Capture) -> Page:
    return page_of(series_capture)


@pytest.fixture(scope="session")
def eight(captures: Path) -> Page:
    """Eight metrics of the same launches, none of them a duration."""
    return page_of(read_capture(captures / "gemm_series.eight-metrics.raw.csv"))


@pytest.fixture(scope="session")
def naive_folder() -> Path:
    return FOLDER / "h200" / "01_naive"


@pytest.fixture(scope="session")
def naive_source() -> str:
    return (ROOT / "cuda" / "ladder" / "01_naive.cu").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def naive(naive_folder: Path, naive_source: str) -> Page:
    capture = read_capture(naive_folder)
    return page_of(capture, manifest=read_manifest(naive_folder), source_text=naive_source)
