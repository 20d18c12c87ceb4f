"""A simulator of NVIDIA machine code (SASS) in NumPy: a cubin in, counters and faults out.

``load_cubin`` reads a kernel; :meth:`Kernel.launch` gives it arrays, a grid and a block;
:meth:`Simulation.run` executes it, and :attr:`Simulation.counters` counts what it asks of memory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sassim.errors import ArgumentError, CubinError, DisassemblerError, SassimError
    from sassim.faults import FaultError, RaceError
    from sassim.simulator import Kernel, Simulation, find_nvdisasm, load_cubin

__all__ = [
    "ArgumentError",
    "CubinError",
    "DisassemblerError",
    "FaultError",
    "Kernel",
    "RaceError",
    "SassimError",
    "Simulation",
    "find_nvdisasm",
    "load_cubin",
]

_MODULES = {"FaultError": "faults", "RaceError": "faults"} | dict.fromkeys(
    ("Kernel", "Simulation", "find_nvdisasm", "load_cubin"), "simulator"
)


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: most importers want one module, not NumPy."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
