"""What measuring launches under ``ncu`` takes, by the two ways in which it repeats them.

``ncu`` measures a kernel in passes. It either repeats the kernel, for which it saves the memory
that the kernel may change and restores it before each pass, or it runs the whole program again for
each pass (Nsight Compute's kernel replay and application replay). All rates here were measured
with ncu 2025.3.1 on an H200, of a kernel that fills memory (``tests/gpu/survey/memory.cu``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

START_S: Final = 2.4
"""Seconds that ``ncu`` takes to start and to write its report."""

REACH_S: Final = 0.0002
"""Seconds that it takes for a launch that it does not profile: 100,000 in 20 s."""

PASS_S: Final = 0.022
"""Seconds that one pass of one launch takes: 20 launches of 16 passes in 7 s."""

CHECKED_BYTES_S: Final = 2.5e12
"""Bytes a second at which it goes through what the program holds, in each pass: 10 passes of a
launch took 0.18 s more with 42 GB beside it, and 38 passes 0.57 s."""

RESTORED_BYTES_S: Final = 200e9
"""Bytes a second at which it restores what a kernel wrote: 456e9 of 17 GB for the passes of
``SpeedOfLight``, 158e9 for those of the full set."""

MOST_WRITTEN_BYTES_S: Final = 4.8e12
"""No kernel writes more, for no H200 has more bandwidth (NVIDIA's data sheet)."""

TO_HOST_BYTES_S: Final = 60e9
"""Bytes a second where the copy has no room beside the original on the GPU and lies with the host:
84 and 88 GB in 13.2 and 14.6 s for the 10 passes of a launch, however little of it was written."""

AGAIN_S: Final = 0.9
"""Seconds beside its own that another run of the program for one more pass takes: 10 passes in
8 s, 38 in more than 45 s, of a program of 0.35 s."""

WORTH_IT: Final = 2.0
"""The program is run again for each pass where that takes so many times less. Our choice: whatever
it does beside its kernels, as writing files, it does as often."""


class Replay(StrEnum):
    """What is repeated for each pass, by the names of ``ncu``'s option ``--replay-mode``."""

    KERNEL = "kernel"
    APPLICATION = "application"


@dataclass(frozen=True, slots=True)
class Effort:
    """What it takes to measure some launches of a program.

    ``launches`` are measured, of the first ``reach`` that the program makes in its first
    ``seconds``. ``held`` is what it holds on a GPU, ``room`` how much more would fit there, both in
    bytes; ``written`` is the sum of what the launches can have written at most. It is
    ``repeatable`` where one process uses a GPU and it ended by itself: only then it can be run
    again for each pass.
    """

    launches: int
    reach: int
    seconds: float
    held: int
    room: int
    written: float
    repeatable: bool

    def estimate(self, passes: int) -> float:
        """Seconds that a run of ``ncu`` takes that measures these launches in so many passes."""
        by = {Replay.KERNEL: self._by_kernel, Replay.APPLICATION: self._by_application}
        return by[self.replay(passes)](passes)

    def replay(self, passes: int) -> Replay:
        """The whole program is run again where saving its memory takes far longer."""
        kernel, application = self._by_kernel(passes), self._by_application(passes)
        pays = self.repeatable and kernel > WORTH_IT * application
        return Replay.APPLICATION if pays else Replay.KERNEL

    @property
    def run(self) -> float:
        """Seconds of a run of ``ncu`` that measures nothing of what comes up to there."""
        return START_S + self._again

    @property
    def _again(self) -> float:
        return self.seconds + REACH_S * self.reach

    def _by_kernel(self, passes: int) -> float:
        if self.held > self.room:
            memory = self.launches * self.held / TO_HOST_BYTES_S
        else:
            memory = self.launches * self.held / CHECKED_BYTES_S + self.written / RESTORED_BYTES_S
        return self.run + passes * (self.launches * PASS_S + memory)

    def _by_application(self, passes: int) -> float:
        return START_S + passes * (AGAIN_S + self._again + self.launches * PASS_S)
