"""Times and checks pairs, or calls one side once for a profiler.

``python -m benchmarks.frameworks time PAIR... --into FILE`` writes a JSON line a side, or one that
says why a pair failed. ``python -m benchmarks.frameworks once PAIR SIDE`` calls it once in an NVTX
range. Both run from the root of a checkout with a Python that has PyTorch and Triton; kernelprof
is not needed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, cast

from benchmarks.frameworks import FOLDER, RANGE, SCRIPT, SIDES

# Compiled in this process: each worker of a pool would be started under the profiler.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
import triton

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

SEED: Final = 0
WARM_UP: Final = 3
ROUNDS: Final = 20
AHEAD: Final = 20
"""Reads of :data:`FLUSHED_BYTES` before the first round: the host queues calls meanwhile, so that
no time between two events is one in which the GPU waits for it."""

FLUSHED_BYTES: Final = 1 << 28
"""What is read before each call, several times what an L2 holds: caches are cold, as they are for
each pass of ``ncu``. Reading leaves nothing that the timed call would have to write back."""


class Pair(Protocol):
    """What a pair's script has, beside a function for each of its sides."""

    TOLERANCE: float
    """The largest error that is allowed, as a share of the largest value that is expected."""

    def inputs(self) -> tuple[Tensor, ...]:
        """What both sides get; made on the GPU."""

    def expected(self, *inputs: Tensor) -> Tensor:
        """The result, in float64."""


class WrongResultError(Exception):
    """A side gives something else than it should."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands; 1 where a pair failed."""
    options = _parser().parse_args(arguments)
    if options.command == "once":
        once(load(options.pair), options.side)
        return 0
    failed = False
    with options.into.open("w", encoding="utf-8") as lines:
        for name in options.pairs:
            for found in attempted(name):
                failed |= "failed" in found
                lines.write(json.dumps({"pair": name, **found}) + "\n")
                lines.flush()
            torch.cuda.empty_cache()
            torch.cuda.synchronize()  # after a fault of the GPU nothing more can be measured here
    return int(failed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frameworks")
    commands = parser.add_subparsers(required=True, dest="command", metavar="COMMAND")
    timed = commands.add_parser("time", help="check and time both sides of pairs")
    timed.add_argument("pairs", nargs="+", metavar="PAIR")
    timed.add_argument("--into", type=Path, required=True, metavar="FILE")
    one = commands.add_parser("once", help="call one side once, in a range for a profiler")
    one.add_argument("pair", metavar="PAIR")
    one.add_argument("side", choices=SIDES)
    return parser


def load(name: str) -> Pair:
    """A pair's script as a module, by the name of its folder."""
    module = f"pair_{name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(module, FOLDER / name / SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    # torch.compile looks for the globals of a function in the module of that name.
    sys.modules[module] = found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return cast("Pair", found)


def attempted(name: str) -> Iterator[dict[str, object]]:
    """What came out of a pair, a side at a time, or one line that says why it failed."""
    try:
        yield from timed(load(name))
    except Exception as error:
        what = str(error).strip().partition("\n")[0]
        yield {"failed": f"{type(error).__name__}: {what}"}


def timed(pair: Pair) -> list[dict[str, object]]:
    """Check both sides and time them, call by call in turn: a drift hits both.

    Times are in nanoseconds between two events around one call, which may launch several kernels.
    """
    given = _inputs(pair)
    sides = {side: _side(pair, side) for side in SIDES if hasattr(pair, side)}
    want = pair.expected(*given)
    errors = {side: _checked(side, run(*given), want, pair) for side, run in sides.items()}
    del want
    torch.cuda.empty_cache()
    for run in sides.values():
        for _ in range(WARM_UP):
            run(*given)
    flushed = torch.zeros(FLUSHED_BYTES // 4, dtype=torch.float32, device="cuda")
    marks: dict[str, list[tuple[torch.cuda.Event, torch.cuda.Event]]] = {s: [] for s in sides}
    for _ in range(AHEAD):
        flushed.sum()
    for _ in range(ROUNDS):
        for side, run in sides.items():
            marks[side].append((torch.cuda.Event(True), torch.cuda.Event(True)))
            flushed.sum()
            marks[side][-1][0].record()
            run(*given)
            marks[side][-1][1].record()
    torch.cuda.synchronize()
    return [
        {
            "side": side,
            "times_ns": [1e6 * begin.elapsed_time(end) for begin, end in marks[side]],
            "warm_up": WARM_UP,
            "largest_error": errors[side],
            "tolerance": pair.TOLERANCE,
            "made_with": f"torch {torch.__version__}, triton {triton.__version__}",
        }
        for side in sides
    ]


def once(pair: Pair, side: str) -> None:
    """Call a side once in the range, after what is compiled or allocated at first."""
    given, run = _inputs(pair), _side(pair, side)
    for _ in range(WARM_UP):
        run(*given)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.nvtx.range_push(RANGE)
    run(*given)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()


def _inputs(pair: Pair) -> tuple[Tensor, ...]:
    torch.manual_seed(SEED)
    with torch.device("cuda"):
        return pair.inputs()


def _side(pair: Pair, side: str) -> Callable[..., Tensor]:
    run: Callable[..., Tensor] = getattr(pair, side)
    return run


def _checked(side: str, got: Tensor, want: Tensor, pair: Pair) -> float:
    """The largest error as a share of the largest value; :class:`WrongResultError` beyond that."""
    error: float = ((got.double() - want).abs().max() / want.abs().max()).item()
    if not error <= pair.TOLERANCE:  # not a number is wrong, too
        raise WrongResultError(
            f"{side} is off by {error:.3g} of the largest value, {pair.TOLERANCE:.3g} is allowed"
        )
    return error


if __name__ == "__main__":
    sys.exit(main())
