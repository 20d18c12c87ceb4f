"""Instructions of a report by NVIDIA's package ncu-report, as its source page has them.

The package names one line of an instruction: that of the code itself, not where it was inlined.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.sampled import STALLS, Counts, Place, SampledCode, together
from kernelprof.sources.ncu.instructions import COUNTERS, STALL_METRIC, ReadLaunch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BYTES: Final = 16
"""Since compute capability 7.0 every instruction takes 128 bits."""
_MOST_LAUNCHES: Final = 200
_MOST: Final = 1_000_000
"""Instructions of a kernel."""


def code_of(package: Any, actions: Iterable[Any]) -> tuple[SampledCode, ...]:
    """The kernels of a report with their instructions; empty where nothing was counted by them.

    Of many launches the first are read: an instruction has thirty values in each.
    """
    some = islice(actions, _MOST_LAUNCHES)
    return together(code for each in some if (code := _code(package, each)) is not None)


def _code(package: Any, action: Any) -> SampledCode | None:
    states = {state: _by_address(action, f"{STALL_METRIC}{state}") for state in STALLS}
    counters = {name: _by_address(action, metric) for name, (_, metric) in COUNTERS.items()}
    known = [each for each in (*states.values(), *counters.values()) if each]
    if not known:
        return None
    first, last = min(map(min, known)), max(map(max, known))
    launch = ReadLaunch(str(action.name(package.IAction.NameBase_DEMANGLED)))
    for address in _addresses(action, first, last):
        text = str(action.sass_by_pc(address)).strip()
        stalls = {
            n: samples for n, found in states.items() if found and (samples := found.get(address))
        }
        counts = {
            n: None if found is None else found.get(address, 0) for n, found in counters.items()
        }
        launch.rows[address] = (text, Counts(sum(stalls.values()), stalls, **counts))
        line = action.source_info(address)
        if line is not None and line.line() > 0:
            launch.places[address] = [Place(str(line.file_name()), int(line.line()))]
    return launch.code()


def _addresses(action: Any, first: int, last: int) -> Iterator[int]:
    """The addresses of a kernel's instructions: also behind the last that was counted."""
    start = first
    while (
        start - _BYTES >= 0 and first - start < _BYTES * _MOST and action.sass_by_pc(start - _BYTES)
    ):
        start -= _BYTES
    for address in range(start, start + _BYTES * _MOST, _BYTES):
        if not action.sass_by_pc(address):
            if address > last:
                return
            continue
        yield address


def _by_address(action: Any, name: str) -> dict[int, int] | None:
    """A metric's values by the address of an instruction; ``None`` where the report has none."""
    metric = action.metric_by_name(name)
    if metric is None or not metric.num_instances() or not metric.has_correlation_ids():
        return None
    addresses = metric.correlation_ids()
    return {
        int(addresses.as_uint64(n)): int(metric.as_double(n)) for n in range(metric.num_instances())
    }
