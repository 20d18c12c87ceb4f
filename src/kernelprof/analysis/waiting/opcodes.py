"""What machine instructions are to a warp that waits for one of them.

NVIDIA lists the opcodes (CUDA Binary Utilities, "Instruction Set Reference") and says of each state
of a warp what it waits for (Nsight Compute, "Warp Stall Reasons"): a long scoreboard is the result
of global, local, surface or texture memory, a short one that of shared memory, special functions
and other units that are shared. Of 6.5 and 2.9 million samples of the corpus in these states all
but 0.05 and 0.06 % are at an instruction that uses what one of the opcodes here brings.
"""

from __future__ import annotations

from typing import Final

GLOBAL_LOADS: Final = frozenset(("LDG", "LD", "LDGSTS"))
GLOBAL_STORES: Final = frozenset(("STG", "ST"))
SHARED: Final = frozenset(("LDS", "LDSM", "STS", "STSM", "ATOMS"))
LOCAL: Final = frozenset(("LDL", "STL"))
ATOMICS: Final = frozenset(("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "SUATOM", "SURED"))
TEXTURES: Final = frozenset(("TEX", "TLD", "TLD4", "TMML", "TXD", "TXQ", "SULD", "SUST"))
COPIES: Final = frozenset(("LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG", "UTMAREDG", "UBLKRED"))
SPECIAL: Final = frozenset(
    ("MUFU", "F2F", "F2I", "I2F", "FRND", "POPC", "FLO", "BREV", "UFLO", "UPOPC", "F2IP")
)
"""What the special-function unit carries out, with conversions and bit counts."""
FP64: Final = frozenset(("DADD", "DFMA", "DMUL", "DSETP", "DMNMX"))
FP32: Final = frozenset(("FADD", "FFMA", "FMUL", "FMNMX", "FSETP", "FSEL", "FSWZADD"))
INTEGER: Final = frozenset(
    (
        *("IADD3", "IMAD", "LOP3", "SHF", "ISETP", "LEA", "IABS", "IMNMX", "VIADD", "VIMNMX"),
        *("VIADDMNMX", "PRMT", "SEL", "IDP", "BMSK", "SGXT", "PLOP3", "POPC", "FLO", "BREV"),
    )
)
WARPGROUP_PRODUCTS: Final = frozenset(("HGMMA", "IGMMA", "QGMMA", "BGMMA"))
PRODUCTS: Final = WARPGROUP_PRODUCTS | {"HMMA", "IMMA", "DMMA", "QMMA", "BMMA"}

MBARRIER: Final = "SYNCS"
"""Operations of a barrier in shared memory."""
BARRIERS: Final = frozenset(
    ("BAR", "WARPSYNC", "UCGABAR_WAIT", "UCGABAR_ARV", "ENDCOLLECTIVE", "WARPGROUP", MBARRIER)
)
FENCES: Final = frozenset(("MEMBAR", "FENCE", "ERRBAR", "CGAERRBAR", "CCTL"))
BRANCHES: Final = frozenset(("BRA", "BRX", "JMP", "JMX", "CALL", "RET", "BSYNC", "BREAK", "EXIT"))

LONG: Final = (
    GLOBAL_LOADS | GLOBAL_STORES | LOCAL | TEXTURES | (ATOMICS - {"ATOMS"}) | {MBARRIER, "QSPC"}
)
"""Whose results, or operands that they still read, a long scoreboard guards."""
SHORT: Final = (
    SHARED
    | SPECIAL
    | FP64
    | {"SHFL", "MATCH", "REDUX", "S2R", "S2UR", "R2UR", "LDC", "ULDC", "CS2R", "B2R", "I2I"}
    | {"I2FP", "VOTEU", "DMMA", "BMOV", "MOVM"}
)
"""The same for a short scoreboard."""
WAITERS: Final = frozenset(("DEPBAR", "WARPGROUP", MBARRIER, "UCGABAR_WAIT", "BAR"))
"""Instructions that wait for what no operand names."""
COPY_WAITS: Final = frozenset(("DEPBAR", "LDGDEPBAR"))

NO_RESULT: Final = frozenset(
    (
        *("STG", "ST", "STS", "STL", "STSM", "RED", "REDG", "SUST", "SURED", "LDGSTS", "LDGDEPBAR"),
        *("BRA", "BRX", "JMP", "JMX", "CALL", "RET", "EXIT", "KILL", "BSSY", "BSYNC", "BREAK"),
        *("BAR", "DEPBAR", "NOP", "WARPSYNC", "YIELD", "NANOSLEEP", "BPT", "BMOV", "R2B"),
        *("MEMBAR", "FENCE", "ERRBAR", "CGAERRBAR", "CCTL", "CCTLL", "WARPGROUP", "WARPGROUPSET"),
        *("UBLKCP", "UBLKRED", "UBLKPF", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UTMACCTL"),
        *("UTMACMDFLUSH", "UCGABAR_ARV", "UCGABAR_WAIT", "ACQBULK", "PREEXIT", "ENDCOLLECTIVE"),
        *("ARRIVES", "USETMAXREG", "RPCMOV"),
    )
)
"""Opcodes whose first operand is no result."""

_KINDS: Final = (
    ("atomic", ATOMICS),
    ("copy", COPIES),
    ("load", GLOBAL_LOADS),
    ("load of local memory", frozenset(("LDL",))),
    ("store of local memory", frozenset(("STL",))),
    ("load of shared memory", frozenset(("LDS", "LDSM"))),
    ("store of shared memory", frozenset(("STS", "STSM"))),
    ("store", GLOBAL_STORES),
    ("texture", TEXTURES),
    ("constant", frozenset(("LDC", "ULDC"))),
    ("wait for an mbarrier", frozenset((MBARRIER,))),
    ("wait for products", frozenset(("WARPGROUP",))),
    ("wait for copies", COPY_WAITS),
    ("barrier", BARRIERS),
    ("fence", FENCES),
    ("product", PRODUCTS),
    ("shuffle", frozenset(("SHFL",))),
    ("special function", SPECIAL),
    ("branch", BRANCHES),
)


def kind(opcode: str) -> str:
    """What an instruction is called in a sentence."""
    return next((name for name, opcodes in _KINDS if opcode in opcodes), "arithmetic")
