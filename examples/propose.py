"""Stands in for a language model in `kernelprof optimize ... --with "python propose.py"`.

It knows one thing: where the brief says that accesses are uncoalesced, threadIdx.x has to run along
the columns.
"""

import os
import sys
from pathlib import Path

SWAPS = (("blockIdx.x", "blockIdx.y"), ("threadIdx.x", "threadIdx.y"), ("(M, BLOCK)", "(N, BLOCK)"))

brief = sys.stdin.read()
source = Path(os.environ["KERNELPROF_SOURCE"])
text = source.read_text("utf-8")
if "Limited by uncoalesced-global-access" in brief:
    for one, other in SWAPS:
        text = text.replace(one, "\0").replace(other, one).replace("\0", other)
    source.write_text(text, "utf-8")
