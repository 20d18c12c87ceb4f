"""What machine instructions are to a warp that waits for one of them, from the table of opcodes."""

from __future__ import annotations

from typing import Final

from sassim.opcodes import find_opcode, flagged_opcodes, opcodes_of_class, select_opcodes

_GLOBAL: Final = ("global", "generic")

GLOBAL_LOADS: Final = select_opcodes(
    lambda row: row.category in ("load", "copy") and row.reads in _GLOBAL and "lsu" in row.pipes
)
GLOBAL_STORES: Final = select_opcodes(lambda row: row.category == "store" and row.writes in _GLOBAL)
SHARED: Final = select_opcodes(lambda row: row.space == "shared")
LOCAL: Final = select_opcodes(lambda row: row.space == "local")
ATOMICS: Final = opcodes_of_class("atomic")
COPIES: Final = opcodes_of_class("copy")
SPECIAL: Final = opcodes_of_class("special", "bits")
"""What the special-function unit carries out, with conversions and bit counts."""
FP64: Final = opcodes_of_class("fp64")
FP32: Final = opcodes_of_class("fp32")
INTEGER: Final = opcodes_of_class("integer", "bits")
PRODUCTS: Final = opcodes_of_class("mma", "wgmma")

MBARRIER: Final = "SYNCS"
"""Operations of a barrier in shared memory."""
BARRIERS: Final = opcodes_of_class("barrier", "mbarrier", "warpgroup")
FENCES: Final = opcodes_of_class("fence")
BRANCHES: Final = opcodes_of_class("branch")

LONG: Final = select_opcodes(lambda row: row.scoreboard == "long")
"""Whose results, or operands that they still read, a long scoreboard guards."""
SHORT: Final = select_opcodes(lambda row: row.scoreboard == "short")
"""The same for a short scoreboard."""
WAITERS: Final = flagged_opcodes("waits")
"""Instructions that wait for what no operand names."""

_NOUNS: Final = {
    "atomic": "atomic",
    "copy": "copy",
    "texture": "texture",
    "constant": "constant",
    "mbarrier": "wait for an mbarrier",
    "warpgroup": "wait for products",
    "copy-wait": "wait for copies",
    "barrier": "barrier",
    "fence": "fence",
    "mma": "product",
    "wgmma": "product",
    "shuffle": "shuffle",
    "bits": "special function",
    "special": "special function",
    "branch": "branch",
}


def kind(opcode: str) -> str:
    """Return what an instruction is called in a sentence."""
    row = find_opcode(opcode)
    if row.category in ("load", "store"):
        is_on_chip = row.space in ("local", "shared")
        return f"{row.category} of {row.space} memory" if is_on_chip else row.category
    return _NOUNS.get(row.category, "arithmetic")
