"""A launch of a specification, bound to machine code: arrays, parameters, sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import architecture
from kernelprof.errors import ExitCode, KernelprofError
from kernelprof.launch.build.compilation import pack_parameters
from kernelprof.launch.check.arrays import (
    encode,
    encode_structure,
    fill,
    part_filler,
    storage_type,
)
from kernelprof.launch.run.trial import refuse_shared_memory
from kernelprof.launch.specification.elements import element_bytes, element_name
from kernelprof.launch.specification.spec import (
    ResolvedScalar,
    ResolvedStructure,
    ResolvedTensorMap,
)
from kernelprof.launch.specification.tensor_maps import SWIZZLE_BYTES, TENSOR_MAP_BYTES
from sassim.interpreter.launch import KernelLaunch, bind_launch
from sassim.interpreter.memory import GlobalMemory
from sassim.interpreter.tensor_maps import EncodedTensorMap
from sassim.interpreter.unsupported import refuse_tensor_memory
from sassim.occupancy import capability_of, static_shared_bytes, system_shared_bytes
from sassim.sass.elf import read_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from kernelprof.launch.build.compilation import Built
    from kernelprof.launch.specification.spec import ResolvedArgument, ResolvedArray, ResolvedLaunch
    from kernelprof.launch.specification.tensor_maps import MapLayout
    from sassim.interpreter.memory import Buffer
    from sassim.sass.cubin import KernelResources
    from sassim.sass.program import Program


_ON_A_GPU: Final = "diagnose the kernel on a machine with a GPU and ncu"


class NotRunnableError(KernelprofError):
    """A kernel that only a GPU can run, or that is not known well enough here."""

    exit_code = ExitCode.ENVIRONMENT

    def __init__(
        self, what: str, *, where: str | None = None, hint: str | None = _ON_A_GPU
    ) -> None:
        super().__init__(what, where=where, hint=hint)


@dataclass(frozen=True)
class BoundLaunch:
    """A launch with its arrays by name."""

    launch: KernelLaunch
    resolved: ResolvedLaunch
    buffers: Mapping[str, Buffer]

    def array(self, name: str) -> npt.NDArray[np.generic]:
        """What an array holds now, in the shape and type in which it lies in memory."""
        array = self.resolved.arrays[name]
        buffer = self.buffers[name]
        kind = storage_type(array.argument.element)
        return buffer.data[: buffer.size].view(kind).reshape(array.shape)


def bind_arguments(
    program: Program, built: Built, resolved: ResolvedLaunch, folder: Path, where: str
) -> BoundLaunch:
    """Give a program its arguments, as they are on a GPU; arrays are filled once they are read.

    Raises :class:`NotRunnableError` and
    :class:`sassim.interpreter.context.NotKnownError` for what only a GPU can carry out, and
    :class:`kernelprof.launch.run.trial.LaunchError` for a launch that no GPU can make.
    """
    refuse_tensor_memory(program)
    refuse_too_much_shared_memory(program.image.resources, resolved.shared_bytes, built.arch, where)
    memory = GlobalMemory()
    buffers = {}
    for name, array in resolved.arrays.items():
        content = partial(fill, array, folder, resolved.sizes)
        buffers[name] = memory.allocate(name, count_bytes(array), content, _part_of_bytes(array))
    values = [_encode_parameter(each, buffers) for each in resolved.parameters]
    slots = read_parameters(built.cubin, built.entry)
    launch = bind_launch(
        program,
        arch=built.arch,
        grid=resolved.grid,
        block=resolved.block,
        dynamic_shared_bytes=resolved.shared_bytes,
        memory=memory,
        parameters=pack_parameters(values, slots, where),
        cluster=resolved.cluster,
        tensor_maps={
            slot.offset: _place_tensor_map(each.layout, buffers[each.array].base)
            for each, slot in zip(resolved.parameters, slots, strict=True)
            if isinstance(each, ResolvedTensorMap)
        },
    )
    return BoundLaunch(launch, resolved, buffers)


def _part_of_bytes(array: ResolvedArray) -> Callable[[int, int], npt.NDArray[np.generic]] | None:
    elements = part_filler(array)
    size = storage_type(array.argument.element).itemsize
    return elements and (lambda start, end: elements(start // size, end // size))


def count_bytes(array: ResolvedArray) -> int:
    """What an array takes in memory."""
    return storage_type(array.argument.element).itemsize * math.prod(array.shape)


def _place_tensor_map(layout: MapLayout, address: int) -> EncodedTensorMap:
    """A tensor map of the array at an address."""
    return EncodedTensorMap(
        address=address,
        type=element_name(layout.type).lower(),
        element_bytes=element_bytes(layout.type),
        dims=layout.dims,
        strides_bytes=layout.strides_bytes,
        box=layout.box,
        element_strides=layout.element_strides or (1,) * len(layout.box),
        swizzle_bytes=SWIZZLE_BYTES.get(layout.swizzle, 0),
        fills_nan=layout.fill == "nan",
    )


def _encode_parameter(each: ResolvedArgument, buffers: Mapping[str, Buffer]) -> bytes:
    if isinstance(each, ResolvedScalar):
        return encode(np.array([each.value]), each.argument.element).tobytes()
    if isinstance(each, ResolvedStructure):
        return encode_structure(each.layout, lambda name: buffers[name].base)
    if isinstance(each, ResolvedTensorMap):
        return bytes(TENSOR_MAP_BYTES)
    return buffers[each.argument.name].base.to_bytes(8, "little")


def track_uninitialized_outputs(launch: BoundLaunch) -> None:
    """Have arrays that begin without values note which bytes were written."""
    for name, array in launch.resolved.arrays.items():
        if array.argument.fill is None:
            buffer = launch.buffers[name]
            buffer.written = np.zeros(buffer.capacity, np.uint8)


def refuse_too_much_shared_memory(
    resources: KernelResources, dynamic: int, arch: str, where: str
) -> None:
    """Refuse a block with more shared memory than an SM has, beside that of the system."""
    capability = capability_of(arch)
    sm = architecture(capability)
    if sm is not None and sm.residency is not None:
        most = sm.residency.shared_kib * 1024 - system_shared_bytes(capability)
        static = static_shared_bytes(resources, capability)
        refuse_shared_memory(static, dynamic, most, arch.rstrip("af"), where)
