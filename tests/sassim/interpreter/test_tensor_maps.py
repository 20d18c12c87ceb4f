"""Boxes that tensor maps copy, in every form: swizzles, edges, strides, reductions, multicast."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.sassim.interpreter.running import code

from sassim.errors import SassimError
from sassim.faults import MisalignedError
from sassim.interpreter.launch import bind_launch
from sassim.interpreter.memory import GlobalMemory
from sassim.interpreter.tensor_maps import EncodedTensorMap, swizzle
from sassim.sass.elf import read_parameters
from sassim.simulator import run_sanitized

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

ARCH = "sm_90a"
UNITS = np.arange(64 * 96, dtype=np.uint16).reshape(64, 96)
CUBE = np.arange(4 * 16 * 24, dtype=np.uint32).reshape(4, 16, 24)


def tensor_map(array: Array, box: tuple[int, ...], **more: Any) -> EncodedTensorMap:
    """A map of a whole array; its address is not known yet."""
    strides = tuple(reversed(array.strides[:-1]))
    plain = EncodedTensorMap(
        address=0,
        type=array.dtype.name,
        element_bytes=array.itemsize,
        dims=tuple(reversed(array.shape)),
        strides_bytes=strides,
        box=box,
        element_strides=(1,) * len(box),
    )
    return replace(plain, **more)


def run(
    kernel: str,
    view: EncodedTensorMap,
    array: Array,
    *others: Array | int,
    shared: int = 4096,
    grid: int = 1,
    is_passed: bool = True,
) -> list[Array]:
    """Run a kernel of ``code/hopper.cu``; the array of the map and the others as they are then."""
    compiled = code("hopper", ARCH)
    memory = GlobalMemory()
    buffers = [(memory.allocate("of the map", array.nbytes, array.copy), array)]
    slots = read_parameters(compiled.cubin, kernel)
    parameters = bytearray(slots[-1].offset + slots[-1].size)
    for slot, each in zip(slots[1:], others, strict=True):
        value = each
        if not isinstance(each, int):
            buffers.append((memory.allocate(f"{slot.offset}", each.nbytes, each.copy), each))
            value = buffers[-1][0].base
        raw = int(value).to_bytes(8, "little", signed=True)[: slot.size]  # type: ignore[call-overload]
        parameters[slot.offset : slot.offset + slot.size] = raw
    launch = bind_launch(
        compiled.program(kernel),
        arch=ARCH,
        grid=(grid, 1, 1),
        block=(128, 1, 1),
        dynamic_shared_bytes=shared,
        memory=memory,
        parameters=bytes(parameters),
        tensor_maps={slots[0].offset: replace(view, address=buffers[0][0].base)}
        if is_passed
        else {},
    )
    run_sanitized(launch)
    return [
        buffer.data[: buffer.size].view(each.dtype).reshape(each.shape) for buffer, each in buffers
    ]


def load(view: EncodedTensorMap, array: Array, at: tuple[int, ...]) -> Array:
    """What shared memory holds of a box, as numbers of the array."""
    words = view.box_bytes // 4
    places = (*at, 0, 0, 0, 0)[:5]
    out = np.zeros(words, np.uint32)
    kernel = f"load_{len(at)}d"
    return run(kernel, view, array, out, words, *places)[1].view(array.dtype)


def box_of(array: Array, box: tuple[int, ...], at: tuple[int, ...]) -> Array:
    """The box with zeros outside of the array, the slowest dimension first."""
    every = zip(reversed(at), reversed(box), array.shape, strict=True)
    ranges = [(x + np.arange(n), extent) for x, n, extent in every]
    inside = np.ix_(*(((index >= 0) & (index < extent)).astype(int) for index, extent in ranges))
    places = np.ix_(*(index.clip(0, extent - 1) for index, extent in ranges))
    found: Array = array[places]
    for each in inside:
        found = np.where(each, found, 0)
    return found


@pytest.mark.parametrize("at", [(8, 4), (80, 56), (-5, -3), (3, 1), (200, 1), (8, -200)])
def test_what_is_outside_of_the_dimensions_is_zero(at: tuple[int, int]) -> None:
    box = (32, 16)
    assert (load(tensor_map(UNITS, box), UNITS, at) == box_of(UNITS, box, at).reshape(-1)).all()


@pytest.mark.parametrize("span", [32, 64, 128])
def test_a_swizzle_permutes_16_bytes_by_the_row_of_128(span: int) -> None:
    box = (span // 2, 16)
    found = load(tensor_map(UNITS, box, swizzle_bytes=span), UNITS, (8, 4)).reshape(-1, 8)
    wanted = box_of(UNITS, box, (8, 4)).reshape(-1, 8)
    for unit, values in enumerate(wanted):
        row, column = unit // 8, unit % 8
        assert (found[row * 8 + (column ^ row % (span // 16))] == values).all()


def test_a_swizzle_is_undone_by_itself() -> None:
    addresses = np.arange(0, 8192, 16)
    for span in (32, 64, 128):
        assert sorted(swizzle(addresses, span)) == addresses.tolist()
        assert (swizzle(swizzle(addresses, span), span) == addresses).all()


def test_boxes_have_up_to_five_dimensions() -> None:
    line = CUBE.reshape(-1)
    assert (load(tensor_map(line, (64,)), line, (1500,))[:36] == line[1500:]).all()
    box, at = (8, 4, 3), (20, 14, 2)
    assert (load(tensor_map(CUBE, box), CUBE, at) == box_of(CUBE, box, at).reshape(-1)).all()
    four = CUBE.reshape(4, 4, 4, 24)
    box, at = (8, 2, 4, 2), (4, 1, 2, -1)
    assert (load(tensor_map(four, box), four, at) == box_of(four, box, at).reshape(-1)).all()
    five = CUBE.reshape(4, 4, 2, 2, 24)
    box, at = (8, 2, 2, 2, 2), (4, 1, -1, 3, 2)
    assert (load(tensor_map(five, box), five, at) == box_of(five, box, at).reshape(-1)).all()


def test_element_strides_leave_rows_out_and_no_columns() -> None:
    plane = CUBE[0]
    view = tensor_map(plane, (8, 16), element_strides=(1, 3))
    wanted = box_of(plane, (8, 16), (4, 1))[::3]
    assert (load(view, plane, (4, 1)) == wanted.reshape(-1)).all()
    both = tensor_map(plane, (8, 16), element_strides=(2, 3))
    assert (load(both, plane, (4, 1)) == wanted.reshape(-1)).all()


def test_strides_are_those_of_the_map() -> None:
    view = tensor_map(UNITS, (8, 4), dims=(8, 16), strides_bytes=(192 * 4,))
    assert (load(view, UNITS, (0, 1)) == UNITS[4:20:4, :8].reshape(-1)).all()


def test_what_is_outside_may_be_nan() -> None:
    floats = UNITS.astype(np.float32)
    found = load(tensor_map(floats, (16, 8), fills_nan=True), floats, (88, 60)).reshape(8, 16)
    assert (found[:4, :8] == floats[60:, 88:]).all()
    assert np.isnan(found[4:]).all()
    assert np.isnan(found[:, 8:]).all()


@pytest.mark.parametrize("at", [(80, -3), (3, 50)])
def test_a_store_leaves_out_what_is_outside(at: tuple[int, int]) -> None:
    given = np.random.default_rng(1).integers(0, 2**16, (16, 32), dtype=np.uint16)
    view = tensor_map(UNITS, (32, 16))
    stored, _ = run("store_2d", view, UNITS, given.view(np.uint32), given.nbytes // 4, *at)
    wanted = np.pad(UNITS, 50)
    wanted[at[1] + 50 : at[1] + 66, at[0] + 50 : at[0] + 82] = given
    assert (stored == wanted[50:-50, 50:-50]).all()


def test_a_store_takes_a_swizzled_box() -> None:
    given = np.arange(16 * 32, dtype=np.uint16)
    view = tensor_map(UNITS, (32, 16), swizzle_bytes=64)
    stored, _ = run("store_2d", view, UNITS, given.view(np.uint32), 256, 0, 0)
    loaded = load(view, stored, (0, 0))
    assert (loaded == given).all()


REDUCTIONS = [
    ("add_2d", np.int32, np.add),
    ("min_2d", np.int32, np.minimum),
    ("max_2d", np.int32, np.maximum),
    ("xor_2d", np.int32, np.bitwise_xor),
    ("add_2d", np.float32, np.add),
    ("add_2d", np.float16, np.add),
    ("min_2d", np.float16, np.minimum),
    ("inc_2d", np.uint32, lambda old, most: np.where(old >= most, 0, old + 1)),
    ("dec_2d", np.uint32, lambda old, most: np.where((old == 0) | (old > most), most, old - 1)),
]


@pytest.mark.parametrize(("kernel", "kind", "combine"), REDUCTIONS)
def test_reductions_combine_with_what_is_there(kernel: str, kind: Any, combine: Any) -> None:
    numbers = np.random.default_rng(2)
    there, given = (numbers.integers(0, 50, shape).astype(kind) for shape in ((16, 24), (16, 16)))
    raw = given.view(np.uint32)
    stored, _ = run(kernel, tensor_map(there, (16, 16)), there, raw, given.nbytes // 4, 4, 2)
    wanted = there.copy()
    wanted[2:, 4:20] = combine(there[2:, 4:20], given[:14])
    assert (stored == wanted).all()


def test_bfloat16_is_added_as_such() -> None:
    there, given = (
        (np.full((16, 16), each, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        for each in (1.5, 2.25)
    )
    view = tensor_map(there, (16, 16), type="bfloat16")
    stored, _ = run("add_2d", view, there, given.view(np.uint32), 128, 0, 0)
    assert (stored.astype(np.uint32) << 16).view(np.float32).tolist() == [[3.75] * 16] * 16


def test_a_multicast_load_comes_to_the_barriers_of_both_blocks() -> None:
    plane = np.arange(64 * 32, dtype=np.uint32).reshape(64, 32)
    _, found = run(
        "multicast", tensor_map(plane, (32, 8)), plane, np.zeros(1024, np.uint32), 256, 0, 5, grid=2
    )
    halves = np.concatenate([plane[5:13], plane[6:14]]).reshape(-1)
    assert (found.reshape(2, -1) == 2 * halves).all()


def test_a_map_that_is_no_parameter_is_named() -> None:
    with pytest.raises(SassimError, match=r"UTMALDG.*not a parameter") as error:
        run(
            "load_1d",
            tensor_map(CUBE.reshape(-1), (64,)),
            CUBE.reshape(-1),
            np.zeros(64, np.uint32),
            64,
            0,
            0,
            0,
            0,
            0,
            is_passed=False,
        )
    assert "__grid_constant__" in str(error.value.hint)


def test_a_map_with_other_dimensions_than_the_copy_is_named() -> None:
    with pytest.raises(SassimError, match="has 1 coordinates, but its tensor map has 3"):
        run(
            "load_1d", tensor_map(CUBE, (8, 4, 3)), CUBE, np.zeros(96, np.uint32), 96, 0, 0, 0, 0, 0
        )


def test_a_box_begins_at_a_multiple_of_128_bytes() -> None:
    plane = np.arange(64 * 32, dtype=np.uint32).reshape(64, 32)
    with pytest.raises(MisalignedError, match="not a multiple of 128 bytes"):
        run(
            "multicast", tensor_map(plane, (4, 3)), plane, np.zeros(64, np.uint32), 12, 0, 5, grid=2
        )
