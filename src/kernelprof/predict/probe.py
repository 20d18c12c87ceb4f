"""Small cases of a kernel that is not fully specified yet: which elements of each array it reaches.

An array whose length is not known grows until no access leaves it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.launch.read_spec import read_spec
from kernelprof.launch.resolved import ResolvedArray
from kernelprof.launch.source import Block
from kernelprof.predict.architectures import DEFAULT_ARCH
from kernelprof.predict.bind import bind
from kernelprof.predict.built import machine_code
from kernelprof.predict.counts.needed import needed
from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.context import Counters
from kernelprof.predict.machine.faults import OutsideError
from kernelprof.predict.machine.machine import Machine
from kernelprof.predict.machine.needed import AssumedError
from kernelprof.predict.occupancy import capability_of, static_shared_bytes
from kernelprof.predict.watch import Together
from kernelprof.predict.watch.endless import Endless

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kernelprof.predict.bind import Bound
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.blocks import Blocks
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block as Piece

DYNAMIC_SHARED: Final = ""
"""The name of a block's dynamic shared memory among the arrays: none of the kernel's has it."""
_FIRST_ELEMENTS: Final = 1 << 16
_MOST_ELEMENTS: Final = 1 << 25
_GROWS: Final = 16
_LANES_AT_ONCE: Final = 1 << 16
_MOST_INSTRUCTIONS: Final = 1 << 19


class TooLongError(KernelprofError):
    """A case that takes longer than there is time for."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The bytes of an array that were asked for: from the first to behind the last."""

    first: int
    end: int


class _Reaching(Counters):
    """Notes the first and the last byte of each array that is accessed."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self.found: dict[str, Reached] = {}
        self.shared_end = 0
        """Behind the last byte of shared memory that is accessed."""
        self._deadline = deadline

    def begin(self, blocks: Blocks) -> None:
        """The arrays of these blocks."""
        self._buffers = blocks.memory.buffers

    def piece(self, c: Context, block: Piece) -> None:  # noqa: ARG002
        """See whether there is time left."""
        if time.process_time() > self._deadline:
            raise TooLongError("a small case takes longer than there is time for")

    def access(
        self,
        c: Context,
        i: Instruction,  # noqa: ARG002
        space: str,
        kind: str,  # noqa: ARG002
        addresses: Array,
        *,
        taking: Array | None,
        size: int,
    ) -> None:
        """Memory is read or written."""
        if space == "shared":
            here = c.here if taking is None else taking
            at = np.broadcast_to(addresses, here.shape)[here]
            end = int(at.max()) + size if at.size else 0
            self.shared_end = max(self.shared_end, end)
        if space != "global":
            return
        here = c.here if taking is None else taking
        everywhere = np.broadcast_to(addresses, here.shape)
        at = everywhere[here]
        if not at.size:
            return
        # An access whose value nothing depends on is not carried out, and not refused.
        c.blocks.memory.check(everywhere, here, size)
        for buffer in self._buffers:
            inside = at[(at >= buffer.base) & (at < buffer.end)]
            if inside.size:
                first = int(inside.min()) - buffer.base
                end = int(inside.max()) - buffer.base + size
                known = self.found.get(buffer.name, Reached(first, end))
                self.found[buffer.name] = Reached(min(known.first, first), max(known.end, end))


class Probe:
    """A kernel that is compiled once and run at several small sizes."""

    def __init__(self, source: Path, toml: str) -> None:
        """``toml`` is a specification; lengths of arrays in it need not be right.

        Raises what a build for a prediction raises.
        """
        self.source = source
        self.spec = read_spec(Block(toml, source))
        made = machine_code(source, self.spec, DEFAULT_ARCH)
        self._built, self.code = made.built, made.code

    @property
    def static_shared_bytes(self) -> int:
        """Of a block, without what the system reserves."""
        resources = self.code.image.resources
        return static_shared_bytes(resources, capability_of(self._built.arch))

    def respecify(self, toml: str) -> None:
        """Take another specification of the same kernel, compiled the same way."""
        self.spec = read_spec(Block(toml, self.source))

    def reached(
        self,
        sizes: Mapping[str, int],
        unknown: Sequence[str],
        limits: Mapping[str, int],
        *,
        seconds: float,
    ) -> dict[str, Reached]:
        """Which bytes of each array are asked for at these sizes.

        ``unknown`` arrays grow; ``limits`` are what random whole numbers of arrays stay below,
        instead of what the specification says. It takes so many ``seconds`` of CPU time at most.
        Raises :class:`OutsideError` where an array of known length is left, or one of unknown
        length before its beginning or without end, and what else the machine raises.
        """
        deadline = time.process_time() + seconds
        elements = dict.fromkeys(unknown, _FIRST_ELEMENTS)
        while True:
            try:
                return self._once(sizes, elements, limits, deadline)
            except OutsideError as error:
                grown = [n for n, count in elements.items() if count < _MOST_ELEMENTS]
                if not grown or error.space != "global" or " before " in error.diagnosis:
                    raise
                for name in grown:
                    elements[name] *= _GROWS

    def _once(
        self,
        sizes: Mapping[str, int],
        elements: Mapping[str, int],
        limits: Mapping[str, int],
        deadline: float,
    ) -> dict[str, Reached]:
        counters = _Reaching(deadline)
        try:
            self._run(self.bound(sizes, elements, limits), counters, brief=True)
        except AssumedError:
            counters = _Reaching(deadline)
            self._run(self.bound(sizes, elements, limits), counters, brief=False)
        static = self.code.image.resources.shared_bytes  # with what the system reserves
        counters.found[DYNAMIC_SHARED] = Reached(0, max(0, counters.shared_end - static))
        return counters.found

    def bound(
        self,
        sizes: Mapping[str, int],
        elements: Mapping[str, int],
        limits: Mapping[str, int],
    ) -> Bound:
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
        return bind(
            self.code,
            self._built,
            replace(resolved, arguments=tuple(arguments)),
            folder,
            str(self.source),
        )

    def _run(self, bound: Bound, reaching: _Reaching, *, brief: bool) -> None:
        """Run all blocks, and only what addresses depend on where that is enough."""
        resolved = bound.resolved
        warps = -(-math.prod(resolved.block) // LANES)
        most = max(1, _LANES_AT_ONCE // (warps * LANES))
        counters = Together((reaching, Endless(_MOST_INSTRUCTIONS)))
        needs = needed(self.code) if brief else None
        for numbers in bound.launch.batches(most):
            Machine(bound.launch, numbers, counters, needs).run()

    def corners(self, seconds: float) -> None:
        """Run the first, the last and a middle block at the real sizes, as they are specified."""
        bound = self.bound(self.spec.sizes, {}, {})
        blocks = math.prod(bound.resolved.grid)
        numbers = sorted({0, blocks // 2, blocks - 1})
        if bound.resolved.cluster is None:
            counters = Together((_Reaching(time.process_time() + seconds),))
            try:
                Machine(bound.launch, numbers, counters, needed(self.code)).run()
            except AssumedError:
                bound.launch.memory.begin_anew()
                Machine(bound.launch, numbers, counters, None).run()
