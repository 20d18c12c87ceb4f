"""Small cases of a kernel that is not fully specified yet: which elements of each array it reaches.

An array whose length is not known grows until no access leaves it.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.launch.source import SpecBlock
from kernelprof.launch.specification.reader import read_spec
from kernelprof.launch.specification.spec import ResolvedArray
from kernelprof.prediction.architectures import DEFAULT_ARCH
from kernelprof.prediction.binding import bind_arguments
from kernelprof.prediction.machine_code import compile_kernel
from sassim.faults import OutOfBoundsError, UninitializedReadError
from sassim.interpreter.context import Observer, ObserverGroup
from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.slices import SliceError
from sassim.loops.backward_slice import slice_program
from sassim.occupancy import capability_of, static_shared_bytes
from sassim.sanitizer.watchdog import Watchdog
from sassim.simulator import run_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from kernelprof.prediction.binding import BoundLaunch
    from sassim.interpreter.context import Access, ExecutionContext
    from sassim.interpreter.state import ResidentBlocks
    from sassim.sass.program import BasicBlock

    ReachedBytes = dict[str, int]
    """By array: bytes from its beginning to behind the last one that was accessed."""

DYNAMIC_SHARED: Final = ""
"""The name of a block's dynamic shared memory among the arrays: none of the kernel's has it."""
_FIRST_ELEMENTS: Final = 1 << 16
_MOST_ELEMENTS: Final = 1 << 25
_GROWS: Final = 16
_MOST_INSTRUCTIONS: Final = 1 << 19


class TooLongError(KernelprofError):
    """A case that takes longer than there is time for."""


class _Reaching(Observer):
    """Notes how far each array is accessed."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self.reached: ReachedBytes = {}
        self.shared_end = 0
        """Behind the last byte of shared memory that is accessed."""
        self._deadline = deadline

    def on_start(self, blocks: ResidentBlocks) -> None:
        """The arrays of these blocks."""
        self._buffers = blocks.memory.buffers

    def on_basic_block(self, c: ExecutionContext, block: BasicBlock) -> None:  # noqa: ARG002
        """See whether there is time left."""
        if time.process_time() > self._deadline:
            raise TooLongError("a small test launch exceeds the time limit")

    def on_access(self, access: Access) -> None:
        """Extend what is reached by what each active lane reads or writes."""
        lanes, size = access.lanes, access.size
        everywhere = np.broadcast_to(access.addresses, lanes.shape)
        at = everywhere[lanes]
        if not at.size:
            return
        if access.space == "shared":
            self.shared_end = max(self.shared_end, int(at.max()) + size)
        elif access.space == "global":
            # An access whose value nothing depends on is not carried out, and not refused.
            access.context.blocks.memory.check(everywhere, lanes, size)
            for buffer in self._buffers:
                inside = at[(at >= buffer.base) & (at < buffer.end)]
                if inside.size:
                    end = int(inside.max()) - buffer.base + size
                    self.reached[buffer.name] = max(self.reached.get(buffer.name, 0), end)


_LEFT_OUT: Final = (SliceError, UninitializedReadError)
"""Errors of running the slice alone, where what it leaves out stored a value that is read."""


class Probe:
    """A kernel that is compiled once and run at several small sizes."""

    def __init__(self, source: Path, toml: str) -> None:
        """``toml`` is a specification; lengths of arrays in it need not be right.

        Raises what a build for a prediction raises.
        """
        self.source = source
        self.spec = read_spec(SpecBlock(toml, source))
        made = compile_kernel(source, self.spec, DEFAULT_ARCH)
        self._built, self.code = made.built, made.code

    @property
    def static_shared_bytes(self) -> int:
        """Of a block, without what the system reserves."""
        resources = self.code.image.resources
        return static_shared_bytes(resources, capability_of(self._built.arch))

    def respecify(self, toml: str) -> None:
        """Take another specification of the same kernel, compiled the same way."""
        self.spec = read_spec(SpecBlock(toml, self.source))

    def reached(
        self,
        sizes: Mapping[str, int],
        unknown: Sequence[str],
        limits: Mapping[str, int],
        *,
        seconds: float,
    ) -> ReachedBytes:
        """Which bytes of each array are asked for at these sizes.

        ``unknown`` arrays grow; ``limits`` are what random whole numbers of arrays stay below,
        instead of what the specification says. It takes so many ``seconds`` of CPU time at most.
        Raises :class:`OutOfBoundsError` where an array of known length is left, or one of unknown
        length before its beginning or without end, and what else the machine raises.
        """
        deadline = time.process_time() + seconds

        def once(elements: Mapping[str, int]) -> ReachedBytes:
            return self._once(sizes, elements, limits, deadline)

        return _grow(unknown, once)

    def _once(
        self,
        sizes: Mapping[str, int],
        elements: Mapping[str, int],
        limits: Mapping[str, int],
        deadline: float,
    ) -> ReachedBytes:
        counters = _Reaching(deadline)
        try:
            self._run(self.bound(sizes, elements, limits), counters, brief=True)
        except _LEFT_OUT:
            counters = _Reaching(deadline)
            self._run(self.bound(sizes, elements, limits), counters, brief=False)
        static = self.code.image.resources.shared_bytes  # with what the system reserves
        counters.reached[DYNAMIC_SHARED] = max(0, counters.shared_end - static)
        return counters.reached

    def bound(
        self,
        sizes: Mapping[str, int],
        elements: Mapping[str, int],
        limits: Mapping[str, int],
    ) -> BoundLaunch:
        """The launch at these sizes, with arrays of so many elements instead of their own."""
        resolved = self.spec.resolve({**self.spec.check_sizes, **sizes})
        arguments: list[Any] = []
        for each in resolved.arguments:
            changed: Any = each
            if isinstance(each, ResolvedArray):
                name = each.argument.name
                if name in elements:
                    inner = each.shape[1:] if len(each.shape) > 1 else ()
                    changed = replace(changed, shape=(elements[name], *inner))
                if name in limits:
                    changed = replace(changed, limit=limits[name])
            arguments.append(changed)
        folder = self.source.parent
        return bind_arguments(
            self.code,
            self._built,
            replace(resolved, arguments=tuple(arguments)),
            folder,
            str(self.source),
        )

    def _run(self, bound: BoundLaunch, reaching: _Reaching, *, brief: bool) -> None:
        """Run all blocks, and only what addresses depend on where that is enough."""
        observer = ObserverGroup((reaching, Watchdog(_MOST_INSTRUCTIONS)))
        run_blocks(bound.launch, observer, slice_program(self.code) if brief else None)

    def corners(self, unknown: Sequence[str], *, seconds: float) -> ReachedBytes:
        """As :meth:`reached`, of the first, the last and a middle block at the real sizes."""
        deadline = time.process_time() + seconds

        def once(elements: Mapping[str, int]) -> ReachedBytes:
            bound = self.bound(self.spec.sizes, elements, {})
            if bound.resolved.cluster is not None:
                return {}
            blocks = math.prod(bound.resolved.grid)
            numbers = sorted({0, blocks // 2, blocks - 1})
            observer = _Reaching(deadline)
            try:
                Interpreter(bound.launch, numbers, observer, slice_program(self.code)).run()
            except _LEFT_OUT:
                bound.launch.memory.begin_anew()
                Interpreter(bound.launch, numbers, observer).run()
            return observer.reached

        return _grow(unknown, once)


def _grow(
    unknown: Sequence[str], once: Callable[[Mapping[str, int]], ReachedBytes]
) -> ReachedBytes:
    """Run with so many elements of unknown arrays as nothing leaves."""
    elements = dict.fromkeys(unknown, _FIRST_ELEMENTS)
    while True:
        try:
            return once(elements)
        except OutOfBoundsError as error:
            grown = [n for n, count in elements.items() if count < _MOST_ELEMENTS]
            if not grown or error.space != "global" or " before " in error.diagnosis:
                raise
            for name in grown:
                elements[name] *= _GROWS
