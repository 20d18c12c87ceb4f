"""What each code of the gate means, for outputs that explain their rules."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from kernelprof.model.gate import Code, Outcome

_FILE: Final = Path(__file__).parents[2] / "data" / "gate_codes.toml"


class GateRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A code that can decide; ``outcome`` is what it means unless the policy says otherwise."""

    title: str
    meaning: str
    advice: str
    outcome: Outcome


RULES: Final = msgspec.toml.decode(_FILE.read_bytes(), type=dict[Code, GateRule])
"""The codes that can make an outcome other than ``pass``; the others only inform."""
