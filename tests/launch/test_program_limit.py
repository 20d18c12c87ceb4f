"""A profiler whose program does not end: the program is ended, and the profiler goes on."""

from __future__ import annotations

import sys
import time

from kernelprof.launch import processes

PROFILER = """
import subprocess, sys
ended = subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"])
print("the program ended with", ended.returncode)
"""


def test_only_the_program_is_ended() -> None:
    begin = time.monotonic()
    with processes.Interrupts() as interrupts:
        outcome = processes.run([sys.executable, "-c", PROFILER], interrupts, program_limit=0.5)
    assert time.monotonic() - begin < 20
    assert outcome.code == 0
    assert b"the program ended with -15" in outcome.printed
