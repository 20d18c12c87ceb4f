"""``python -m kernelprof``."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # Python puts the current folder there, and a checkout may hold a numpy.py.
        del sys.path[0]

    from kernelprof.cli.main import run

    sys.exit(run())
