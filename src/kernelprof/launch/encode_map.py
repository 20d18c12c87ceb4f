"""Tensor maps as the driver encodes them, by NVIDIA's ``cuda-bindings``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import MissingToolError
from kernelprof.launch.elements import element_bytes, is_floating
from kernelprof.launch.trial import LaunchError

if TYPE_CHECKING:
    from kernelprof.launch.tensor_maps import MapLayout

_NAMES: Final = {
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
}
"""Types that maps know; of all others the copies move whole numbers of the same size."""


def element_name(type_name: str) -> str:
    """What ``CUtensorMapDataType`` calls the elements of an array."""
    return _NAMES.get(type_name, f"UINT{8 * element_bytes(type_name)}")


def encoded(layout: MapLayout, address: int, where: str) -> bytes:
    """The 128 bytes of the ``CUtensorMap`` of an array at that address of the device."""
    driver = _driver()
    swizzle, promotion = layout.swizzle.upper(), layout.l2_promotion.upper()
    nan = layout.fill == "nan" and is_floating(layout.type)
    kinds = (
        ("DataType", f"DATA_TYPE_{element_name(layout.type)}"),
        ("Interleave", "INTERLEAVE_NONE"),
        ("Swizzle", f"SWIZZLE_{swizzle}"),
        ("L2promotion", f"L2_PROMOTION_{'NONE' if promotion == 'NONE' else f'L2_{promotion}'}"),
        ("FloatOOBfill", f"FLOAT_OOB_FILL_{'NAN_REQUEST_ZERO_FMA' if nan else 'NONE'}"),
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
        [driver.cuuint64_t(each) for each in layout.strides_bytes],
        [driver.cuuint32_t(each) for each in layout.box],
        [driver.cuuint32_t(1)] * len(layout.box),
        *rest,
    )
    if result != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(
            f"the driver refused a tensor map ({result.name}): {layout}",
            where=where,
            hint="a device of compute capability 9.0 or newer has tensor maps",
        )
    return b"".join(int(each).to_bytes(8, "little") for each in found.opaque)


def _driver() -> Any:
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError as error:
        raise MissingToolError(
            f"cuda-bindings, which encodes tensor maps, cannot be imported: {error}",
            hint="on a machine with a GPU: pip install 'kernelprof[gpu]'",
        ) from error
