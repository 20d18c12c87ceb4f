"""Tensor maps as the driver encodes them, by NVIDIA's ``cuda-bindings``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kernelprof.launch.elements import TENSOR_MAP_TYPES, element_bytes
from kernelprof.launch.libraries import library
from kernelprof.launch.trial import LaunchError

if TYPE_CHECKING:
    from kernelprof.launch.tensor_maps import MapLayout

_NO_STRIDES: Final = (16,)
"""What stands for the strides of a map of one dimension, which has none: the driver refuses a null
pointer even there (NVIDIA/cccl, pull request 1568), and that is what an empty list becomes."""


def element_name(type_name: str) -> str:
    """What ``CUtensorMapDataType`` calls the elements of an array."""
    return TENSOR_MAP_TYPES.get(type_name, f"UINT{8 * element_bytes(type_name)}")


def encoded(layout: MapLayout, address: int, where: str) -> bytes:
    """The 128 bytes of the ``CUtensorMap`` of an array at that address of the device."""
    driver = _driver()
    swizzle, promotion = layout.swizzle.upper(), layout.l2_promotion.upper()
    filling = "NAN_REQUEST_ZERO_FMA" if layout.fill == "nan" else "NONE"
    kinds = (
        ("DataType", f"DATA_TYPE_{element_name(layout.type)}"),
        ("Interleave", "INTERLEAVE_NONE"),
        ("Swizzle", f"SWIZZLE_{swizzle}"),
        ("L2promotion", f"L2_PROMOTION_{'NONE' if promotion == 'NONE' else f'L2_{promotion}'}"),
        ("FloatOOBfill", f"FLOAT_OOB_FILL_{filling}"),
    )
    element, *rest = (
        getattr(getattr(driver, f"CUtensorMap{kind}"), f"CU_TENSOR_MAP_{name}")
        for kind, name in kinds
    )
    result, found = driver.cuTensorMapEncodeTiled(
        element,
        len(layout.dims),
        address,
        [driver.cuuint64_t(each) for each in layout.dims],
        [driver.cuuint64_t(each) for each in layout.strides_bytes or _NO_STRIDES],
        [driver.cuuint32_t(each) for each in layout.box],
        [driver.cuuint32_t(1)] * len(layout.box),
        *rest,
    )
    if result != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(
            f"the driver refused a tensor map ({result.name}): {layout.type}, dimensions "
            f"{layout.dims}, strides of {layout.strides_bytes} bytes, box {layout.box}, swizzle "
            f"{layout.swizzle}",
            where=where,
            hint="what it asks for is in the CUDA Driver API, cuTensorMapEncodeTiled",
        )
    return b"".join(int(each).to_bytes(8, "little") for each in found.opaque)


def _driver() -> Any:
    return library("cuda.bindings.driver", "cuda-bindings, which encodes tensor maps,")
