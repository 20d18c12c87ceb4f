"""Roles of warps in real kernels: of the corpus on an H200, and of CUTLASS on a B200."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.support.captures import CAPTURES, sampled_code

from kernelprof.analysis.stalls import LineBlame
from kernelprof.model.sampled import Counts, SampledCode, SampledInstruction

if TYPE_CHECKING:
    from kernelprof.model.waiting import WarpRoles

H200 = CAPTURES / "h200_lines"
RUNGS = CAPTURES / "bf16" / "lines"
B200 = CAPTURES / "blackwell" / "NaregAmirianMegan__NVFP4_Kernels"

SPECIALIZED = {
    # What the pair plants: accumulators that spill, in the warps that multiply.
    "expert-layers-one-warpgroup-a-tile": (
        "mma",
        {"producer": ("free buffers", 0.94), "mma": ("products", 0.45)},
    ),
    # Its producers gather pixels by hand; TMA fixes it.
    "image-convolution-gathered-by-hand": (
        "producer",
        {"producer": ("arithmetic", 0.36), "mma": ("tiles", 0.92)},
    ),
    # Each product is waited for before the next one is issued.
    "passage-search-product-by-product": (
        "mma",
        {"producer": ("free buffers", 0.90), "mma": ("products", 0.72)},
    ),
    # Blocks of one tile: starting and ending takes the time, and no role waits for another.
    "user-item-scores-a-tile-a-block": (
        None,
        {"producer": ("draining stores", 0.57), "mma": ("store", 0.27)},
    ),
    "weather-components-stored-one-by-one": (
        "mma",
        {"producer": ("free buffers", 0.72), "mma": ("products", 0.53)},
    ),
}
"""Warp-specialized kernels of the corpus: the limiting role, and the longest wait of each."""


def _roles(code: SampledCode) -> WarpRoles | None:
    return LineBlame(code).summarize_stalls().roles


@pytest.mark.parametrize("pair", SPECIALIZED)
def test_each_role_and_what_it_waits_for(pair: str) -> None:
    limit, longest = SPECIALIZED[pair]
    roles = _roles(sampled_code(H200 / f"{pair}.json.gz"))
    assert roles is not None
    assert roles.limit == limit
    first = {each.role: (each.waits[0].waits_for, each.waits[0].share) for each in roles.roles}
    assert first == {
        role: (what, pytest.approx(share, abs=0.005)) for role, (what, share) in longest.items()
    }


def test_kernels_whose_warps_all_run_the_same_code_have_no_roles() -> None:
    specialized = {
        path.name.removesuffix(".json.gz")
        for path in H200.glob("*.json.gz")
        if _roles(sampled_code(path)) is not None
    }
    assert specialized == set(SPECIALIZED)


FREE_BUFFERS = {
    # The next rung adds a second warpgroup that multiplies: 1.25x.
    "06_producer_ring": ("mma", 0.64),
    # The next one lets producers go on while tiles are stored.
    "07_two_consumers": ("mma", 0.69),
    "08_persistent": ("mma", 0.78),
    "09_lean_mbarriers": ("mma", 0.82),
    # Producers also wait for those of the other block of the cluster.
    "10_cluster_multicast": (None, 0.32),
    "11_async_stores": ("mma", 0.83),
    "13_even_waves": ("mma", 0.83),
}
"""Rungs of the BF16 ladder that have a producer: the limiting role, and how much of its time the
producer waits for free buffers."""


@pytest.mark.parametrize("rung", FREE_BUFFERS)
def test_the_producer_of_a_rung_waits_for_the_products(rung: str) -> None:
    limit, share = FREE_BUFFERS[rung]
    roles = _roles(sampled_code(RUNGS / f"{rung}.json.gz"))
    assert roles is not None
    assert roles.limit == limit
    (producer,) = (each for each in roles.roles if each.role == "producer")
    waits = {each.waits_for: each.share for each in producer.waits}
    assert waits["free buffers"] == pytest.approx(share, abs=0.005)


def test_a_rung_without_a_producer_has_no_roles() -> None:
    assert _roles(sampled_code(RUNGS / "04_wgmma.json.gz")) is None


class TestTcgen05:
    """A product of CUTLASS for sm_100: producer, MMA and epilogue warps."""

    code = sampled_code(B200 / "phase0_v1_k16384.lines.json.gz")

    def test_the_epilogue_is_a_role(self) -> None:
        roles = _roles(self.code)
        assert roles is not None
        waits = {each.role: (each.waits[0].waits_for, each.samples) for each in roles.roles}
        assert waits == {
            "producer": ("free buffers", 190),
            "mma": ("tiles", 210),
            "epilogue": ("products", 1044),
        }

    def test_no_role_is_blamed_where_issued_products_are_not_waited_for(self) -> None:
        """Warps that wait for tiles may have run ahead of the tensor cores."""
        roles = _roles(self.code)
        assert roles is not None
        assert roles.limit is None

    def test_few_samples_tell_nothing(self) -> None:
        thinned = replace(
            self.code,
            instructions=tuple(
                replace(
                    each,
                    counts=replace(
                        each.counts,
                        samples=each.counts.samples // 2,
                        stalls={state: n // 2 for state, n in each.counts.stalls.items()},
                    ),
                )
                for each in self.code.instructions
            ),
        )
        assert _roles(thinned) is None


WAIT = "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R2], R3"
PRODUCT = "HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, gsb0"
RING = (
    "@P0 BRA 0x60",
    # Producers: free buffers, a copy, the next one.
    WAIT, "@!P1 BRA 0x10", "UTMALDG.2D [UR4], [UR6]", "@P2 BRA 0x10", "EXIT",
    # MMA warps: their turn; tiles, products, the next ones; the next turn.
    WAIT, "@!P1 BRA 0x60", WAIT, "@!P1 BRA 0x80", PRODUCT, "@P2 BRA 0x80", "@P3 BRA 0x60", "EXIT",
)  # fmt: skip
BUFFERS, COPY, ORDER, TILES = 2, 3, 7, 9


@pytest.mark.parametrize(
    ("buffers", "tiles", "order", "limit"),
    [
        (90, 10, 0, "mma"),
        (10, 90, 0, "producer"),
        (90, 90, 0, "copies"),
        (10, 10, 0, None),
        (40, 40, 0, None),
        # Warps that multiply in turns wait for each other, which is no wait for tiles.
        (90, 10, 60, None),
    ],
)
def test_the_role_that_the_others_wait_for(
    buffers: int, tiles: int, order: int, limit: str | None
) -> None:
    samples = {
        BUFFERS: 2 * buffers,
        COPY: 200 - 2 * buffers,
        ORDER: 2 * order,
        TILES: 2 * tiles,
        RING.index(PRODUCT): 200 - 2 * tiles - 2 * order,
    }
    instructions = tuple(
        SampledInstruction(
            16 * n, text, (), Counts(samples.get(n, 0), _states(text, samples.get(n, 0)))
        )
        for n, text in enumerate(RING)
    )
    roles = _roles(SampledCode("k", instructions))
    assert roles is not None
    assert roles.limit == limit


def _states(text: str, samples: int) -> dict[str, int]:
    return {"long_scoreboard" if "BRA" in text else "selected": samples}
