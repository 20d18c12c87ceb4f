"""The GPU by way of PyCUDA: memory, launches, events and tensor maps. Only the child imports it."""

from __future__ import annotations

import contextlib
import math
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.errors import ExitCode
from kernelprof.launch.build.compilation import pack_parameters
from kernelprof.launch.check.arrays import (
    encode,
    encode_structure,
    fill,
    import_library,
    storage_type,
)
from kernelprof.launch.run.faults import driver_error
from kernelprof.launch.run.trial import DriverResources, LaunchError, refuse_shared_memory
from kernelprof.launch.specification.elements import element_name
from kernelprof.launch.specification.spec import (
    PLAIN_SHARED_BYTES,
    ResolvedScalar,
    ResolvedStructure,
    ResolvedTensorMap,
    refuse_partial_clusters,
)
from sassim.sass.elf import read_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from kernelprof.launch.build.compilation import Built
    from kernelprof.launch.specification.spec import (
        Dim3,
        ResolvedArgument,
        ResolvedArray,
        ResolvedLaunch,
    )
    from kernelprof.launch.specification.tensor_maps import MapLayout

    Array = npt.NDArray[Any]

_NO_STRIDES: Final = (16,)
"""What stands for the strides of a map of one dimension, which has none: the driver refuses a null
pointer even there (NVIDIA/cccl, pull request 1568), and that is what an empty list becomes."""


def encode_tensor_map(layout: MapLayout, address: int, where: str) -> bytes:
    """Encode the 128 bytes of the ``CUtensorMap`` of an array at an address."""
    driver = import_library("cuda.bindings.driver", "cuda-bindings, which encodes tensor maps,")
    swizzle, promotion = layout.swizzle.upper(), layout.l2_promotion.upper()
    filling = "NAN_REQUEST_ZERO_FMA" if layout.fill == "nan" else "NONE"
    kinds = (
        ("DataType", f"DATA_TYPE_{element_name(layout.type)}"),
        ("Interleave", "INTERLEAVE_NONE"),
        ("Swizzle", f"SWIZZLE_{swizzle}"),
        ("L2promotion", f"L2_PROMOTION_{'NONE' if promotion == 'NONE' else f'L2_{promotion}'}"),
        ("FloatOOBfill", f"FLOAT_OOB_FILL_{filling}"),
    )
    element, *settings = (
        getattr(getattr(driver, f"CUtensorMap{kind}"), f"CU_TENSOR_MAP_{name}")
        for kind, name in kinds
    )
    result, encoded = driver.cuTensorMapEncodeTiled(
        element,
        len(layout.dims),
        address,
        [driver.cuuint64_t(each) for each in layout.dims],
        [driver.cuuint64_t(each) for each in layout.strides_bytes or _NO_STRIDES],
        [driver.cuuint32_t(each) for each in layout.box],
        [driver.cuuint32_t(each) for each in layout.element_strides or (1,) * len(layout.box)],
        *settings,
    )
    if result != driver.CUresult.CUDA_SUCCESS:
        raise LaunchError(
            f"the driver refused a tensor map ({result.name}): {layout.type}, dimensions "
            f"{layout.dims}, strides of {layout.strides_bytes} bytes, box {layout.box}, swizzle "
            f"{layout.swizzle}",
            where=where,
            hint="see the requirements of cuTensorMapEncodeTiled in the CUDA Driver API",
        )
    return b"".join(int(each).to_bytes(8, "little") for each in encoded.opaque)


_HOPPER = (9, 0)
"""The first compute capability with clusters and tensor maps."""
_PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every GPU with clusters has room for (CUDA C++ Programming Guide)."""
_CLUSTER_EXTENTS = (11, 12, 13)
"""CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, _HEIGHT and _DEPTH, which PyCUDA has no names for."""
_LARGER_CLUSTERS = 14
"""CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED."""
FIRST_DELAY_NS: Final = 2_000_000
_LONGEST_DELAY_NS = 512_000_000
# Keeps the GPU waiting, and touches no memory, while launches are queued.
DELAY: Final = """
.version 6.0
.target sm_50
.address_size 64
.visible .entry delay(.param .u64 nanoseconds)
{
    .reg .pred %more;
    .reg .u64 %wanted, %begin, %now;
    ld.param.u64 %wanted, [nanoseconds];
    mov.u64 %begin, %globaltimer;
again:
    mov.u64 %now, %globaltimer;
    sub.u64 %now, %now, %begin;
    setp.lt.u64 %more, %now, %wanted;
    @%more bra again;
    ret;
}
"""


class CudaDevice:
    """The first visible GPU, with a context of its own."""

    def __init__(self) -> None:
        self.driver: Any = import_library("pycuda.driver", "PyCUDA")
        try:
            self.driver.init()
            self.device: Any = self.driver.Device(0)
            self.context: Any = self.device.make_context()
        except self.driver.Error as error:
            raise driver_error(error, "CUDA device 0") from error
        self.name: str = self.device.name()
        self.capability: tuple[int, int] = self.device.compute_capability()
        self.arch = "sm_{}{}".format(*self.capability)

    def close(self) -> None:
        """Release the context."""
        self.context.pop()
        self.context.detach()


class LoadedKernel:
    """A loaded kernel, its parameters and resources."""

    def __init__(self, gpu: CudaDevice, built: Built, where: str) -> None:
        self.device = gpu
        self.where = where
        self._compiled_cluster: Dim3 | None = None
        try:
            self._module: Any = gpu.driver.module_from_buffer(built.cubin)
            self.function: Any = self._module.get_function(built.entry)
        except gpu.driver.Error as error:
            raise driver_error(error, where) from error
        self.slots = read_parameters(built.cubin, built.entry)
        spills = built.spills
        self.resources = DriverResources(
            registers=int(self.function.num_regs),
            shared_bytes=int(self.function.shared_size_bytes),
            local_bytes=int(self.function.local_size_bytes),
            constant_bytes=int(self.function.const_size_bytes),
            most_threads=int(self.function.max_threads_per_block),
            spill_store_bytes=None if spills is None else spills.store_bytes,
            spill_load_bytes=None if spills is None else spills.load_bytes,
        )

    def allow(self, launch: ResolvedLaunch) -> None:
        """Refuse a launch beyond the device's limits; request the shared memory that it needs."""
        threads = int(np.prod(launch.block))
        got = self.resources
        maps = any(isinstance(each, ResolvedTensorMap) for each in launch.parameters)
        if maps and self.device.capability < _HOPPER:
            raise LaunchError(
                f"{self.device.name} does not support tensor maps",
                where=self.where,
                hint="tensor maps need compute capability 9.0 or higher",
            )
        if threads > got.most_threads:
            raise LaunchError(
                f"a block has {threads} threads, but this kernel allows at most "
                f"{got.most_threads} ({got.registers} registers per thread)",
                where=self.where,
                hint=f"make the block smaller, or add __launch_bounds__({threads}) so that the "
                "compiler uses fewer registers",
            )
        total = got.shared_bytes + launch.shared_bytes
        attribute = self.device.driver.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        most = int(self.device.device.get_attribute(attribute))
        refuse_shared_memory(
            got.shared_bytes, launch.shared_bytes, most, self.device.name, self.where
        )
        if total > PLAIN_SHARED_BYTES:
            attribute = self.device.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.function.set_attribute(attribute, launch.shared_bytes)
        if launch.cluster is not None or self.device.capability >= _HOPPER:
            self._allow_cluster(launch)

    def _allow_cluster(self, launch: ResolvedLaunch) -> None:
        if self.device.capability < _HOPPER:
            raise LaunchError(
                f"{self.device.name} does not support clusters",
                where=self.where,
                hint="clusters need compute capability 9.0 or higher: remove [launch] cluster",
            )
        attribute = self.device.driver.function_attribute
        extents = [attribute(each) for each in _CLUSTER_EXTENTS]
        if self._compiled_cluster is None:
            x, y, z = (int(self.function.get_attribute(each)) for each in extents)
            self._compiled_cluster = x, y, z
        fixed = self._compiled_cluster if any(self._compiled_cluster) else None
        cluster = launch.cluster or fixed
        if cluster is None:
            return
        if fixed is not None and fixed != cluster:
            raise LaunchError(
                f"the kernel has __cluster_dims__{fixed}, but the launch requests clusters of "
                f"{cluster}",
                where=self.where,
                hint="remove one of the two: [launch] cluster or __cluster_dims__",
            )
        refuse_partial_clusters(launch.grid, cluster, self.where)
        if math.prod(cluster) > _PORTABLE_CLUSTER:
            self.function.set_attribute(attribute(_LARGER_CLUSTERS), 1)
        if fixed is None:
            for extent, blocks in zip(extents, cluster, strict=True):
                self.function.set_attribute(extent, blocks)


class BoundKernel:
    """A kernel with its arguments in device memory, at one set of sizes."""

    def __init__(
        self, kernel: LoadedKernel, launch: ResolvedLaunch, folder: Path, *, poison: bool = True
    ) -> None:
        self.kernel = kernel
        self._poison = poison
        self.launch = launch
        self._driver = kernel.device.driver
        self.before: dict[str, Array] = {}
        self._arrays = launch.arrays
        self._memory: dict[str, Any] = {}
        self._initial: dict[str, Any] = {}
        self._enough_memory()
        try:
            kernel.allow(launch)
            for array in self._arrays.values():
                self._allocate(array, folder)
            values = [self._value(each) for each in launch.parameters]
        except self._driver.Error as error:
            raise driver_error(error, kernel.where) from error
        except MemoryError as error:
            raise LaunchError(
                f"there is not enough host memory for the kernel's arrays: {error}",
                where=kernel.where,
                hint="use smaller [sizes]",
                exit_code=ExitCode.ENVIRONMENT,
            ) from error
        buffer = pack_parameters(values, kernel.slots, kernel.where)
        # One value that PyCUDA copies as it is: it would pack several without gaps.
        self._parameters = (np.void(buffer),) if buffer else ()

    def run(self, limit_s: float) -> None:
        """Launch once and wait for the end."""
        with self._explaining():
            done = self._end()
            self.restore()
            self._launch()
            done.record()
            self._wait(done, limit_s)

    def times_ns(self, count: int, limit_s: float) -> tuple[float, ...]:
        """Launch ``count`` times, one after the other, each between two events.

        What a launch changes of its input is put back before the next, outside of the events. The
        first of a row follows an untimed one, as the others follow each other. A launch that the
        GPU had to wait for is not counted: its time would hold the host's (on an H200 a kernel that
        does nothing then has 7.8 us, else 3.2, the two events and the start of a kernel; 20
        launches each, ``tests/gpu/launch/nothing.cu``).
        """
        times: list[float] = []
        delay_ns = FIRST_DELAY_NS
        with self._explaining():
            module = self._driver.module_from_buffer(DELAY.encode() + b"\0")
            delay = module.get_function("delay")
            while len(times) < count:
                got = self._row(delay, delay_ns, count - len(times), limit_s)
                times += got
                if delay_ns >= _LONGEST_DELAY_NS and not got:
                    raise LaunchError(
                        "this machine is too busy to time the kernel: the CPU cannot "
                        "queue launches fast enough",
                        where=self.kernel.where,
                        hint="stop other work on this machine and try again",
                        exit_code=ExitCode.ENVIRONMENT,
                    )
                delay_ns = min(4 * delay_ns, _LONGEST_DELAY_NS)
        return tuple(times)

    def _row(self, delay: Any, delay_ns: int, count: int, limit_s: float) -> list[float]:
        pairs = []
        delay(np.uint64(delay_ns), block=(1, 1, 1), grid=(1, 1, 1))
        self.restore()
        self._launch()
        for _ in range(count):
            begin, end = self._driver.Event(), self._driver.Event()
            self.restore()
            begin.record()
            self._launch()
            end.record()
            if not begin.query():
                pairs.append((begin, end))
        last = self._end()
        last.record()
        self._wait(last, limit_s * (count + 1))
        return [round(end.time_since(begin) * 1e6, 1) for begin, end in pairs]

    def result(self, name: str) -> Array:
        """Copy an array back to the host."""
        array = self._arrays[name]
        host = np.empty(array.shape, storage_type(array.argument.element))
        try:
            self._driver.memcpy_dtoh(host, self._memory[name])
        except self._driver.Error as error:
            raise driver_error(error, self.kernel.where) from error
        return host

    def restore(self) -> None:
        """Restore the arrays that the kernel both reads and writes."""
        for name, saved in self._initial.items():
            self._driver.memcpy_dtod(self._memory[name], saved, _bytes(self._arrays[name]))

    def _launch(self) -> None:
        launch = self.launch
        self.kernel.function(
            *self._parameters, block=launch.block, grid=launch.grid, shared=launch.shared_bytes
        )

    def _end(self) -> Any:
        """Return an event whose wait does not spin on a processor."""
        return self._driver.Event(self._driver.event_flags.BLOCKING_SYNC)

    def _wait(self, event: Any, limit_s: float) -> None:
        """Wait for an event without trusting that it comes.

        A thread of its own waits, as nothing ends a wait of the driver. Asking the event again and
        again would lose what an assert says: the driver writes that in a call that waits (all of 80
        launches of ``tests/gpu/launch/asserts.cu`` on an H200, and 91 of 120 whose event was asked
        every 0.5 or 50 ms).
        """
        faults: list[Exception] = []

        def waits() -> None:
            context = self.kernel.device.context
            context.push()
            try:
                event.synchronize()
            except self._driver.Error as error:
                faults.append(error)
            finally:
                context.pop()

        waiter = threading.Thread(target=waits, daemon=True)
        waiter.start()
        waiter.join(limit_s)
        if waiter.is_alive():
            raise LaunchError(
                f"the kernel did not end within {limit_s:g} s",
                where=self.kernel.where,
                hint="possible causes: a loop that never ends, threads that wait for each "
                "other, or too much work; use smaller sizes, or increase [launch] time_limit_s",
            )
        if faults:
            raise faults[0]

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        """Translate the driver's errors; a kernel's fault surfaces in any later call."""
        try:
            yield
        except self._driver.Error as error:
            raise driver_error(error, self.kernel.where) from error

    def _value(self, each: ResolvedArgument) -> bytes:
        if isinstance(each, ResolvedScalar):
            return encode(np.array([each.value]), each.argument.element).tobytes()
        if isinstance(each, ResolvedStructure):
            return encode_structure(each.layout, lambda name: int(self._memory[name]))
        if isinstance(each, ResolvedTensorMap):
            return encode_tensor_map(each.layout, int(self._memory[each.array]), self.kernel.where)
        return int(self._memory[each.argument.name]).to_bytes(8, "little")

    def _allocate(self, array: ResolvedArray, folder: Path) -> None:
        argument = array.argument
        values = fill(array, folder, self.launch.sizes)
        self.before[argument.name] = values
        memory = self._driver.mem_alloc(max(values.nbytes, 1))
        if self._poison or argument.fill is not None:
            self._driver.memcpy_htod(memory, values)
        self._memory[argument.name] = memory
        if argument.output and argument.fill is not None:
            saved = self._driver.mem_alloc(max(values.nbytes, 1))
            self._driver.memcpy_htod(saved, values)
            self._initial[argument.name] = saved

    def _enough_memory(self) -> None:
        arrays = list(self._arrays.values())
        wanted_bytes = sum(
            _bytes(each) * (2 if each.argument.output and each.argument.fill is not None else 1)
            for each in arrays
        )
        free, total = self._driver.mem_get_info()
        if wanted_bytes > free:
            largest = max(arrays, key=_bytes)
            raise LaunchError(
                f"the kernel's arrays need {wanted_bytes / 1e9:.2f} GB, but only {free / 1e9:.2f} "
                f"of {total / 1e9:.2f} GB are free on {self.kernel.device.name}",
                where=self.kernel.where,
                hint="use smaller [sizes], or stop other work on the GPU; the largest array is "
                f"{largest.argument.name} with {_bytes(largest) / 1e9:.2f} GB",
                exit_code=ExitCode.ENVIRONMENT,
            )


def _bytes(array: ResolvedArray) -> int:
    return storage_type(array.argument.element).itemsize * math.prod(array.shape)
