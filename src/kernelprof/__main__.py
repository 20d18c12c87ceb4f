"""``python -m kernelprof``."""

import sys

from kernelprof.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
