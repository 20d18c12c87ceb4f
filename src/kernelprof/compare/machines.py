"""Whether two captures were measured alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.comparison import InputChange

if TYPE_CHECKING:
    from kernelprof.model.snapshot import Machine

CLOCKS_APART: Final = 0.01
"""Clocks further apart than this make times those of two machines."""

LONG_ENOUGH_NS: Final = 1e6
"""Launches from which a clock is read: it is cycles over time, which ``ncu`` reads in different
passes. For the same code it scattered by 3 % below 1 ms and by 0.4 % from there on
(``tests/captures/h200_triage``, ``tests/captures/gemm_series.same-code-13x.raw.csv``)."""

ROUGHLY_APART: Final = 0.15
"""The same for shorter launches: ``three-blocks`` of ``tests/captures/h200_changes``, 0.5 ms long,
was read at 1,769 to 1,984 MHz."""

_DECISIVE: Final = {
    "gpu": "GPU",
    "compute_capability": "compute capability",
    "ncu": "Nsight Compute",
    "clock_control": "clock control",
}
_TOLD: Final = {"driver": "driver", "cuda": "CUDA"}


def machine_changes(before: Machine, after: Machine) -> tuple[tuple[InputChange, ...], str | None]:
    """What differs, and why times cannot be compared, if that is so.

    What only one side tells is no difference.
    """
    changes, reasons = [], []
    for name, label in {**_DECISIVE, **_TOLD}.items():
        old, new = getattr(before, name), getattr(after, name)
        if old is None or new is None or old == new:
            continue
        changes.append(InputChange(label, f"another {label}", old, new))
        if name in _DECISIVE:
            reasons.append(f"another {label} ({old} before, {new} after)")
    if _apart(before.sm_hz, after.sm_hz, CLOCKS_APART):
        old, new = _megahertz(before.sm_hz), _megahertz(after.sm_hz)
        changes.append(InputChange("clocks", "another SM clock", old, new))
        reasons.append(
            f"SM clocks more than {100 * CLOCKS_APART:g} % apart ({old} before, {new} after)"
        )
    elif _apart(before.rough_sm_hz, after.rough_sm_hz, ROUGHLY_APART):
        old, new = _megahertz(before.rough_sm_hz), _megahertz(after.rough_sm_hz)
        changes.append(InputChange("clocks", "another SM clock", old, new))
        reasons.append(
            f"SM clocks of short launches more than {100 * ROUGHLY_APART:g} % apart ({old} before, "
            f"{new} after)"
        )
    return tuple(changes), "; ".join(reasons) or None


def _apart(old: float | None, new: float | None, most: float) -> bool:
    """Whether clocks that both sides tell are further apart than that."""
    return bool(old and new and abs(new / old - 1) > most)


def _megahertz(hertz: float | None) -> str:
    return "" if hertz is None else f"{hertz / 1e6:.0f} MHz"
