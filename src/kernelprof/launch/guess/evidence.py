"""What a source says about one kernel, put together for those who draw conclusions from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.launches import HostLaunch
    from kernelprof.launch.guess.reach import Reach
    from kernelprof.launch.guess.written_types import Element
    from kernelprof.launch.signature import KernelSignature
    from kernelprof.launch.usage import Usage


@dataclass(frozen=True)
class Evidence:
    """One kernel, one launch of it if the file has any, and what its body does."""

    kernel: KernelSignature
    used: Usage
    reach: Reach
    host: HostLaunch | None
    constants: Mapping[str, int]
    """Numbers that the file or the template gives names to."""
    given: Mapping[str, Amount]
    """What the parameters of whole numbers are given."""
    shared: Mapping[str, Element]
    """Dynamic shared memory, by its name in the kernel."""

    @property
    def program(self) -> Mapping[str, int | None]:
        """Sizes of the host's code with their values, ``None`` where that is not known."""
        return {} if self.host is None else self.host.values.sizes

    @property
    def known_sizes(self) -> dict[str, int]:
        """Those that have values."""
        return {name: value for name, value in self.program.items() if value is not None}

    @property
    def passed(self) -> set[str]:
        """Sizes in what the kernel is given."""
        return {name for amount in self.given.values() for name in amount.names}
