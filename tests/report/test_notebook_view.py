"""What results show in Python and in a notebook."""

from __future__ import annotations

import html
import re

import pytest

import kernelprof as kp
from kernelprof.errors import UsageError


@pytest.fixture(scope="module")
def gemms(captures):
    """The kernels of the example notebook."""
    return kp.read(captures / "gemm_series.full.raw.csv").diagnose(kernel="gemm_")


def test_it_prints_the_text_of_the_command_line(gemms, captures) -> None:
    assert str(gemms) == gemms.to_text()
    assert repr(gemms) == "<Diagnosis of 11 kernels>"
    assert repr(gemms.capture) == f"<Capture {captures}/gemm_series.full.raw.csv: 26 launches>"
    tiles = [captures / "h200_changes" / name / "1" for name in ("tile", "tile-rolled")]
    assert repr(kp.compare(*tiles)) == "<Comparison of 1 kernel>"
    assert repr(kp.gate(*tiles)) == "<Gate of 1 kernel>"
    assert repr(kp.history(tiles[0], cache=False)) == "<History of 1 kernel>"


def test_a_kernel_is_found_by_its_name(gemms) -> None:
    assert gemms["gemm_bad"] is gemms.kernels[0]
    assert [*gemms] == [*gemms.kernels]
    assert gemms[gemms.kernels[1].name].name == gemms.kernels[1].name
    with pytest.raises(KeyError) as caught:
        gemms["gem_bad"]
    assert caught.value.args == (
        "no kernel is called 'gem_bad'; did you mean gemm_bad? available: gemm_bad; gemm_tiled; "
        "gemm_coalesced",
    )


def test_a_bottleneck_is_explained() -> None:
    page = kp.explain("uncoalesced-global-access")
    assert page.startswith("uncoalesced-global-access: Uncoalesced global memory access\n")
    with pytest.raises(UsageError, match="no bottleneck is called 'uncoalesced'") as caught:
        kp.explain("uncoalesced")
    assert "did you mean uncoalesced-global-access?" in str(caught.value.hint)


def inside(shown: str) -> str:
    """The page in the frame that a notebook gets."""
    frame = re.fullmatch(r"<iframe [^>]*sandbox [^>]*srcdoc='([^']*)'></iframe>", shown)
    assert frame is not None
    return html.unescape(frame[1])


def test_a_notebook_shows_folded_kernels_in_a_frame_of_its_own(gemms) -> None:
    shown = gemms._repr_html_()
    assert len(shown) <= 300_000
    page = inside(shown)
    assert page.count('<details class="panel kernel card">') == 11
    assert page.count('data-chart="overview"') == 1
    assert "All metrics" not in page
    assert "<script" not in page


def test_charts_of_the_report_are_drawn_alone(gemms) -> None:
    page = inside(gemms.plot("roofline", "gemm_bad")._repr_html_())
    assert page.count("data-chart=") == page.count('data-chart="roofline"') == 1
    assert inside(gemms.plot("warps").html).count("data-chart=") == 11
    with pytest.raises(UsageError, match="this diagnosis has no chart 'roof'") as caught:
        gemms.plot("roof")
    assert caught.value.hint == (
        "available: overview, memory, roofline, warps, pipes, occupancy, instructions"
    )
