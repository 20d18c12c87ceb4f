"""``python -m kernelprof``, and what the command ``kernelprof`` calls."""

from kernelprof import interrupts


def run() -> int:
    """The program. Nothing else is imported before Ctrl-C is taken over."""
    interrupts.install()
    from kernelprof.cli.main import run as run_commands

    return run_commands()


if __name__ == "__main__":
    import sys

    if not sys.flags.safe_path:
        # Python puts the current folder there, and a checkout may hold a numpy.py.
        del sys.path[0]

    sys.exit(run())
