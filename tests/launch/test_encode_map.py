"""What the driver is asked for, in the types of ``cuda-bindings``; the driver is not here."""

from __future__ import annotations

import pytest
from cuda.bindings import driver

from kernelprof.launch.elements import TYPES
from kernelprof.launch.encode_map import element_name, encoded
from kernelprof.launch.tensor_maps import MapLayout
from kernelprof.launch.trial import LaunchError

LAYOUT = MapLayout(
    type="bfloat16",
    dims=(64, 4096, 16),
    strides_bytes=(2048, 128),
    box=(64, 128, 2),
    swizzle="128B",
    l2_promotion="256B",
    fill="nan",
)


@pytest.fixture
def asked(monkeypatch):
    """Arguments of calls, which get a map with the numbers 0 to 15 in it."""
    calls = []

    def encode(*arguments):
        calls.append(arguments)
        made = driver.CUtensorMap()
        made.opaque = [driver.cuuint64_t(each) for each in range(16)]
        return driver.CUresult.CUDA_SUCCESS, made

    monkeypatch.setattr(driver, "cuTensorMapEncodeTiled", encode)
    return calls


def test_the_driver_gets_the_layout_and_gives_128_bytes(asked) -> None:
    found = encoded(LAYOUT, 0x7F0000000000, "k.cu")
    assert len(found) == 128
    assert found == b"".join(each.to_bytes(8, "little") for each in range(16))
    (given,) = asked
    assert given[0] is driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
    assert given[1:3] == (3, 0x7F0000000000)
    assert [[int(each) for each in values] for values in given[3:7]] == [
        [64, 4096, 16],
        [2048, 128],
        [64, 128, 2],
        [1, 1, 1],
    ]
    assert given[7:] == (
        driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B,
        driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    )


def test_a_map_of_one_dimension_has_strides_that_are_no_null_pointer(asked) -> None:
    """The driver refuses one; it reads none of them."""
    encoded(MapLayout("float32", (128,), (), (64,)), 256, "k.cu")
    assert asked[0][1] == 1
    assert len(asked[0][4]) == 1


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("promotion", ["none", "64B", "128B", "256B"])
def test_every_choice_has_a_name_in_the_library(asked, swizzle, promotion) -> None:
    layout = MapLayout("float8_e4m3", (128,), (), (16,), swizzle, promotion)
    assert encoded(layout, 256, "k.cu")
    spans = {"none": 0, "32B": 1, "64B": 2, "128B": 3}
    sizes = {"none": 0, "64B": 1, "128B": 2, "256B": 3}
    # CUtensorMapSwizzle and CUtensorMapL2promotion of cuda.h 13.0.
    assert asked[0][8:10] == (spans[swizzle], sizes[promotion])
    assert asked[0][0] is driver.CUtensorMapDataType.CU_TENSOR_MAP_DATA_TYPE_UINT8


def test_every_type_has_elements_in_the_library() -> None:
    known = {
        each.name.removeprefix("CU_TENSOR_MAP_DATA_TYPE_") for each in (driver.CUtensorMapDataType)
    }
    assert {element_name(each) for each in TYPES} <= known
    assert element_name("bool") == "UINT8"
    assert element_name("int16") == "UINT16"


def test_what_the_driver_refuses_is_an_error_of_the_kernel(monkeypatch) -> None:
    refused = driver.CUresult.CUDA_ERROR_INVALID_VALUE
    monkeypatch.setattr(driver, "cuTensorMapEncodeTiled", lambda *_: (refused, None))
    with pytest.raises(LaunchError, match=r"a tensor map \(CUDA_ERROR_INVALID_VALUE\)") as e:
        encoded(LAYOUT, 256, "k.cu")
    assert "(64, 4096, 16)" in e.value.what
    assert e.value.where == "k.cu"
