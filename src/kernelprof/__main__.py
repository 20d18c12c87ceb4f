"""``python -m kernelprof``."""

import sys

from kernelprof.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
