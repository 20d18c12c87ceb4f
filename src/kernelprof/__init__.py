"""Names what limits CUDA kernels, from Nsight Compute counters, with the evidence.

    >>> import kernelprof as kp
    >>> kp.read("capture.csv").diagnose().to_pandas()  # doctest: +SKIP

The names of this module are the interface; ``docs/python.md`` describes them. Each is loaded when
it is first used.
"""

from __future__ import annotations

from kernelprof.version import __version__

# Importing typing takes longer than all else here, and Ctrl-C shows a traceback until that is done.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from kernelprof.comparison_results import Comparison, GateResult, History
    from kernelprof.errors import InputError, KernelprofError, MissingToolError, UsageError
    from kernelprof.interface.captures import diagnose, profile, read
    from kernelprof.interface.changes import compare, gate, history
    from kernelprof.interface.optimization import optimize
    from kernelprof.interface.prediction import predict
    from kernelprof.interface.reference import explain, ncu_command, presets, rules, schema
    from kernelprof.model.diagnosis import Confidence, Status
    from kernelprof.model.gate import Outcome
    from kernelprof.results import Capture, Diagnosis

__all__ = [
    "Capture",
    "Comparison",
    "Confidence",
    "Diagnosis",
    "GateResult",
    "History",
    "InputError",
    "KernelprofError",
    "MissingToolError",
    "Outcome",
    "Status",
    "UsageError",
    "__version__",
    "compare",
    "diagnose",
    "explain",
    "gate",
    "history",
    "ncu_command",
    "optimize",
    "predict",
    "presets",
    "profile",
    "read",
    "rules",
    "schema",
]

_HOMES: Final = {
    "kernelprof.errors": ("InputError", "KernelprofError", "MissingToolError", "UsageError"),
    "kernelprof.results": ("Capture", "Diagnosis"),
    "kernelprof.comparison_results": ("Comparison", "GateResult", "History"),
    "kernelprof.model.diagnosis": ("Confidence", "Status"),
    "kernelprof.model.gate": ("Outcome",),
    "kernelprof.interface.captures": ("diagnose", "profile", "read"),
    "kernelprof.interface.changes": ("compare", "gate", "history"),
    "kernelprof.interface.optimization": ("optimize",),
    "kernelprof.interface.prediction": ("predict",),
    "kernelprof.interface.reference": ("explain", "ncu_command", "presets", "rules", "schema"),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = next(home for home, names in _HOMES.items() if name in names)
    # A name of this package that is also a module of it would be overwritten by its import.
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
