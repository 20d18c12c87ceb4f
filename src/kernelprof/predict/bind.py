"""A launch of a specification, bound to machine code: arrays, parameters, sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.launch.arrays import encode, fill, storage_type, structure
from kernelprof.launch.cubin import packed, parameters
from kernelprof.launch.resolved import ResolvedScalar, ResolvedStructure, ResolvedTensorMap
from kernelprof.predict.machine.launch import Launch, bound
from kernelprof.predict.machine.memory import GlobalMemory
from kernelprof.predict.machine.refusals import refuse_tensor_memory
from kernelprof.predict.occupancy import refuse_no_room
from kernelprof.predict.problems import NotRunnableError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from kernelprof.launch.build import Built
    from kernelprof.launch.resolved import ResolvedArgument, ResolvedArray, ResolvedLaunch
    from kernelprof.predict.machine.memory import Buffer
    from kernelprof.predict.sass.program import Program


@dataclass(frozen=True)
class Bound:
    """A launch with its arrays by name."""

    launch: Launch
    resolved: ResolvedLaunch
    buffers: Mapping[str, Buffer]

    def array(self, name: str) -> npt.NDArray[np.generic]:
        """What an array holds now, in the shape and type in which it lies in memory."""
        array = self.resolved.arrays[name]
        buffer = self.buffers[name]
        kind = storage_type(array.argument.element)
        return buffer.data[: buffer.size].view(kind).reshape(array.shape)


def bind(
    program: Program, built: Built, resolved: ResolvedLaunch, folder: Path, where: str
) -> Bound:
    """Give a program its arguments, as they are on a GPU; arrays are filled once they are read.

    Raises :class:`NotRunnableError` and
    :class:`kernelprof.predict.machine.context.NotKnownError` for what only a GPU can carry out, and
    :class:`kernelprof.launch.trial.LaunchError` for a launch that no GPU can make.
    """
    refuse_tensor_memory(program)
    refuse_no_room(program.image.resources, resolved.shared_bytes, built.arch, where)
    memory = GlobalMemory()
    buffers = {}
    for name, array in resolved.arrays.items():
        content = partial(fill, array, folder, resolved.sizes)
        buffers[name] = memory.allocate(name, bytes_of(array), content)
    values = [_value(each, buffers, where) for each in resolved.parameters]
    launch = bound(
        program,
        arch=built.arch,
        grid=resolved.grid,
        block=resolved.block,
        dynamic_shared_bytes=resolved.shared_bytes,
        memory=memory,
        parameters=packed(values, parameters(built.cubin, built.entry), where),
        cluster=resolved.cluster,
    )
    return Bound(launch, resolved, buffers)


def bytes_of(array: ResolvedArray) -> int:
    """What an array takes in memory."""
    return storage_type(array.argument.element).itemsize * math.prod(array.shape)


def _value(each: ResolvedArgument, buffers: Mapping[str, Buffer], where: str) -> bytes:
    """A parameter as it lies in memory."""
    if isinstance(each, ResolvedScalar):
        return encode(np.array([each.value]), each.argument.element).tobytes()
    if isinstance(each, ResolvedStructure):
        return structure(each.layout, lambda name: buffers[name].base)
    if isinstance(each, ResolvedTensorMap):
        raise NotRunnableError("copies by tensor maps (TMA) run on a GPU alone", where=where)
    return buffers[each.argument.name].base.to_bytes(8, "little")
