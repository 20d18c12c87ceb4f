"""Launches up to the driver, in whose place a stand-in notes what it is asked for."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver

from kernelprof.launch.build.compilation import Built, CompileError
from kernelprof.launch.run import device as launching
from kernelprof.launch.run.device import (
    BoundKernel,
    CudaDevice,
    LoadedKernel,
    element_name,
    encode_tensor_map,
)
from kernelprof.launch.run.trial import LaunchError
from kernelprof.launch.specification.elements import TYPES
from kernelprof.launch.specification.expressions import SpecError
from kernelprof.launch.specification.tensor_maps import MapLayout
from sassim.sass.elf import ParameterSlot

TOML = """\
kernel = "k"
block = [32]
grid = ["blocks"]
reference = "none"
sizes = { blocks = 16 }
arguments = [
    { name = "scale", type = "float8_e4m3", value = 1.5 },
    { name = "map", tensor_map = { of = "x", box = [64] } },
    { name = "y", type = "float16", shape = [8], output = true },
    { name = "half", type = "float16", value = 0.5 },
    { name = "x", type = "float32", shape = [64], fill = "arange", passed = false },
]
"""
SLOTS = (ParameterSlot(0, 1), ParameterSlot(112, 128), ParameterSlot(240, 8), ParameterSlot(248, 2))


class DriverError(Exception):
    """As PyCUDA's."""


class Memory:
    """An allocation at an address, with what was copied there."""

    def __init__(self, address: int) -> None:
        self.address = address
        self.held = b""

    def __int__(self) -> int:
        return self.address


class Function:
    """A kernel's function: its attributes, and what it was called with."""

    num_regs = shared_size_bytes = local_size_bytes = const_size_bytes = 0
    max_threads_per_block = 1024

    def __init__(self, cluster: tuple[int, int, int]) -> None:
        self.attributes: dict[Any, int] = dict(zip((11, 12, 13), cluster, strict=True))
        self.set: dict[Any, int] = {}
        self.calls: list[tuple[Any, dict[str, Any]]] = []

    def get_attribute(self, which: int) -> int:
        return self.attributes[which]

    def set_attribute(self, which: int, value: int) -> None:
        self.set[which] = value

    def __call__(self, *arguments: Any, **options: Any) -> None:
        self.calls.append((arguments, options))


class Driver:
    """As much of ``pycuda.driver`` as a launch needs."""

    Error = DriverError
    device_attribute = SimpleNamespace(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=97)

    class function_attribute(int):  # noqa: N801
        """An enumeration of Boost.Python: every number is one."""

        MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

    def __init__(self, cluster: tuple[int, int, int] = (0, 0, 0)) -> None:
        self.function = Function(cluster)
        self.memory: list[Memory] = []

    def module_from_buffer(self, _cubin: bytes) -> Any:
        return SimpleNamespace(get_function=lambda _: self.function)

    def mem_get_info(self) -> tuple[int, int]:
        return 10**9, 10**9

    def mem_alloc(self, _size: int) -> Memory:
        self.memory.append(Memory(0x7F0000000000 + 0x1000 * len(self.memory)))
        return self.memory[-1]

    def memcpy_htod(self, memory: Memory, values: np.ndarray) -> None:
        memory.held = values.tobytes()


@pytest.fixture
def bound(read, monkeypatch, tmp_path):
    """Binds the kernel of a specification to a device; the driver, and what was bound."""
    monkeypatch.setattr(launching, "read_parameters", lambda *_: SLOTS)
    monkeypatch.setattr(
        launching, "encode_tensor_map", lambda _layout, address, _: bytes([address >> 12 & 7]) * 128
    )

    def bind(toml: str = TOML, *, cluster=(0, 0, 0), capability=(9, 0)) -> tuple[Driver, Any]:
        driver = Driver(cluster)
        device = object.__new__(CudaDevice)
        device.driver, device.capability, device.name = driver, capability, "a GPU"
        device.device = SimpleNamespace(get_attribute=lambda _: 232448)
        kernel = LoadedKernel(device, Built(b"", "k", (), "sm_90a"), "k.cu, kernel k")
        return driver, BoundKernel(kernel, read(toml).resolve(), tmp_path)

    return bind


def test_a_structure_holds_addresses_and_numbers(bound, monkeypatch) -> None:
    members = '[{ name = "n", type = "int32", value = 7 }, { name = "x", of = "x" }]'
    given = '{ name = "map", tensor_map = { of = "x", box = [64] } }'
    slots = (SLOTS[0], ParameterSlot(16, 16), *SLOTS[2:])
    monkeypatch.setattr(launching, "read_parameters", lambda *_: slots)
    driver, kernel = bound(TOML.replace(given, f'{{ name = "p", members = {members} }}'))
    kernel._launch()
    ((buffer,), _) = driver.function.calls[0]
    assert struct.unpack_from("<iiQ", bytes(buffer), 16) == (7, 0, 0x7F0000001000)


def test_parameters_lie_where_the_compiler_wants_them(bound) -> None:
    driver, kernel = bound()
    kernel._launch()
    ((buffer,), options) = driver.function.calls[0]
    assert isinstance(buffer, np.void)  # which PyCUDA copies as it is
    data = bytes(buffer)
    assert len(data) == 250
    assert data[0] == 0x3C  # 1.5 in float8_e4m3
    # The map is that of x, which is allocated, filled and no parameter.
    assert data[112:240] == bytes([1]) * 128
    assert struct.unpack_from("<Q", data, 240) == (0x7F0000000000,)
    assert struct.unpack_from("<e", data, 248) == (0.5,)
    assert np.frombuffer(driver.memory[1].held, np.float32).tolist() == list(range(64))
    assert (options["grid"], options["block"], options["shared"]) == ((16, 1, 1), (32, 1, 1), 0)


def test_other_parameters_than_the_kernels_are_refused(bound) -> None:
    with pytest.raises(CompileError, match="1, 128, 8, 2 bytes, but the arguments have 4, 128, 8"):
        bound(TOML.replace('"float8_e4m3", value = 1.5', '"float32", value = 1.5'))


@pytest.mark.parametrize(
    ("clusters", "asked"),
    [
        ("[2]", {11: 2, 12: 1, 13: 1}),
        ("[8]", {11: 8, 12: 1, 13: 1}),
        ("[16]", {14: 1, 11: 16, 12: 1, 13: 1}),
    ],
)
def test_clusters_are_asked_for(bound, clusters, asked) -> None:
    driver, _ = bound(f"launch = {{ cluster = {clusters} }}\n{TOML}")
    assert driver.function.set == asked


def test_clusters_of_the_source_are_left_alone(bound) -> None:
    driver, _ = bound(cluster=(4, 1, 1))
    assert driver.function.set == {}
    driver, _ = bound(f"launch = {{ cluster = [4] }}\n{TOML}", cluster=(4, 1, 1))
    assert driver.function.set == {}
    driver, _ = bound(cluster=(16, 1, 1))
    assert driver.function.set == {14: 1}
    with pytest.raises(SpecError, match="16 blocks in x, but a cluster has 3"):
        bound(cluster=(3, 1, 1))
    with pytest.raises(
        LaunchError, match=r"__cluster_dims__\(4, 1, 1\), but the launch requests clusters"
    ):
        bound(f"launch = {{ cluster = [2] }}\n{TOML}", cluster=(4, 1, 1))


def test_a_gpu_without_clusters_and_tensor_maps(bound, monkeypatch) -> None:
    with pytest.raises(LaunchError, match="a GPU does not support tensor maps"):
        bound(capability=(8, 9))
    plain = TOML.replace('    { name = "map", tensor_map = { of = "x", box = [64] } },\n', "")
    assert plain != TOML
    monkeypatch.setattr(launching, "read_parameters", lambda *_: (SLOTS[0], *SLOTS[2:]))
    driver, _ = bound(plain, capability=(8, 9))
    assert driver.function.set == {}
    with pytest.raises(LaunchError, match="a GPU does not support clusters"):
        bound(f"launch = {{ cluster = [2] }}\n{plain}", capability=(8, 9))


@pytest.mark.parametrize(
    ("size", "asked"), [(49152, {}), (49168, {8: 49168}), (232448, {8: 232448})]
)
def test_more_shared_memory_is_asked_for_up_to_the_limit(bound, size, asked) -> None:
    driver, kernel = bound(f"launch = {{ shared_bytes = {size} }}\n{TOML}")
    assert driver.function.set == asked
    kernel._launch()
    assert driver.function.calls[0][1]["shared"] == size
    with pytest.raises(LaunchError, match="a block needs 232464 bytes of shared memory"):
        bound(f"launch = {{ shared_bytes = 232464 }}\n{TOML}")


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
    found = encode_tensor_map(LAYOUT, 0x7F0000000000, "k.cu")
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
    encode_tensor_map(MapLayout("float32", (128,), (), (64,)), 256, "k.cu")
    assert asked[0][1] == 1
    assert len(asked[0][4]) == 1


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("promotion", ["none", "64B", "128B", "256B"])
def test_every_choice_has_a_name_in_the_library(asked, swizzle, promotion) -> None:
    layout = MapLayout("float8_e4m3", (128,), (), (16,), swizzle, promotion)
    assert encode_tensor_map(layout, 256, "k.cu")
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
        encode_tensor_map(LAYOUT, 256, "k.cu")
    assert "(64, 4096, 16)" in e.value.what
    assert e.value.where == "k.cu"
