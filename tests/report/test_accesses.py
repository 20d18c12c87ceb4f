"""What is shown of each access of a prediction: how much is needless, and for what that speaks."""

from __future__ import annotations

import pytest
from tests.comparison.predicted import SPECIFICATION, access, amount, predicted

from kernelprof.model.manifest import SourceFacts
from kernelprof.model.prediction import PredictedAccess, PredictionFacts
from kernelprof.report.document import Document
from kernelprof.report.documents import prediction
from kernelprof.report.documents.prediction import NeedlessTraffic, costly_accesses
from kernelprof.report.writers import Screen, terminal

TEXT = "one\n\n  third = a[i];\n  b[3 * i] = third;\n"


def facts(*found: PredictedAccess) -> PredictionFacts:
    return PredictionFacts(predicted((), *found), SourceFacts("k.cu", "0" * 64, SPECIFICATION))


def test_a_line_that_wastes_a_quarter_of_all_comes_first_and_is_of_the_kernel() -> None:
    of_lines = ((3, 900, 900), (4, 40, 10), (5, 500, 100))
    found = costly_accesses(facts(*(access(at, sectors=n, ideal=best) for at, n, best in of_lines)))
    assert [(each.access.line, each.waste) for each in found] == [
        (5, NeedlessTraffic.OF_THE_KERNEL),
        (4, NeedlessTraffic.OF_THE_LINE),
        (3, NeedlessTraffic.NONE),
    ]


def test_sectors_and_wavefronts_are_no_parts_of_each_other() -> None:
    sectors = access(3, sectors=100_000, ideal=100_000)
    found = costly_accesses(facts(sectors, access(4, wavefronts=40, ideal=10, space="shared")))
    assert [(each.access.line, each.waste, each.bottleneck) for each in found] == [
        (4, NeedlessTraffic.OF_THE_KERNEL, "shared-bank-conflicts"),
        (3, NeedlessTraffic.NONE, "uncoalesced-global-access"),
    ]


def test_all_of_local_memory_is_needless() -> None:
    (found,) = costly_accesses(facts(access(3, sectors=64, space="local")))
    assert found.waste is NeedlessTraffic.OF_THE_KERNEL
    assert found.bottleneck == "local-memory-traffic"
    assert found.access.needless == 1


@pytest.mark.parametrize(
    ("each", "text"),
    [
        (access(3, sectors=16, requests=16), "1 sector"),
        (access(3, sectors=512, requests=16), "32 sectors"),
        (access(3, wavefronts=36, requests=16, space="shared"), "2.25 wavefronts"),
    ],
)
def test_what_a_request_takes(each: PredictedAccess, text: str) -> None:
    (found,) = costly_accesses(facts(each))
    assert found.text == text


def test_what_asks_for_nothing_and_constants_are_left_out() -> None:
    unasked = access(3, sectors=0, requests=0)
    constant = PredictedAccess("k.cu", 4, "constant", "load", 4, 1, amount(8))
    assert costly_accesses(facts(unasked, constant)) == []
    assert costly_accesses(None) == []


def written(known: PredictionFacts, *, brief: bool) -> str:
    blocks = prediction.brief(known, TEXT) if brief else (prediction.section(known, TEXT),)
    document = Document("", tuple(each for each in blocks if each is not None))
    return terminal.write(document, Screen(80))


def test_a_short_table_has_what_wastes_and_a_long_one_all() -> None:
    store = access(4, sectors=320, ideal=64, kind="store")
    known = facts(access(3, sectors=64, ideal=64), store)
    assert written(known, brief=True) == (
        "\n"
        "\n"
        "line code              access           per request ideal needless\n"
        "   4 b[3 * i] = third; global store 4 B  20 sectors     4     80 %\n"
    )
    full = written(known, brief=False)
    assert "   3 third = a[i];     global load 4 B        16   4 sectors     4      0 %\n" in full
    assert "Memory accesses by line" in full


def test_what_is_beyond_three_lines_is_counted() -> None:
    known = facts(*(access(line, sectors=100 + line, ideal=1) for line in range(3, 8)))
    assert "and 2 more accesses with needless sectors or wavefronts" in written(known, brief=True)


def test_a_good_kernel_has_no_short_table() -> None:
    assert not list(prediction.brief(facts(access(3, sectors=64, ideal=64)), TEXT))
    assert prediction.section(facts(), TEXT) is None


def test_lines_of_other_files_and_of_none_have_no_code() -> None:
    known = facts(
        access(4, sectors=320, ideal=64, file="/home/somebody/tile.cuh"),
        access(0, sectors=300, ideal=64, file=""),
    )
    rows = written(known, brief=True).splitlines()[3:5]
    assert rows[0].split()[0] == "tile.cuh:4"
    assert rows[1].split()[0] == "-"


def test_on_what_it_rests_is_said() -> None:
    assert prediction.basis(facts().counts) == (
        "predicted from machine code for sm_90, not measured: 16 of 16 blocks simulated"
    )
    assert prediction.describe_basis(facts().counts).startswith("Predicted from machine code")
