"""The metrics and presets that kernelprof ships: TOML files of what to collect, where, and why.

A theme defines metrics of its own. A selection (``triage``, ``full``) has none: it names metrics
of themes (``metrics``) or whole themes (``include``). A canonical name is defined in one file only,
so that the name, its unit and its reason can be found there. ``samples = true`` asks for what tells
at which source lines warps spend their time; ``include`` does not bring it along.

Nothing heavy is imported here, so that listing presets starts fast.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta, Struct, structs

from kernelprof.analysis.metrics.architectures import CHIPS, chip_of
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.errors import InputError, UsageError
from kernelprof.model.capture import DEVICE_NAME, MetricColumn
from kernelprof.model.toml_text import split_mistake
from kernelprof.resources import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from kernelprof.model.capture import FloatArray, Origin

SAMPLES: Final = "group:smsp__pcsamp_warp_stall_reasons"
"""What ``ncu`` is asked for to sample where warps are: no metric, but a list of counters, one a
reason for waiting. Its source page has their sum under this name, for each instruction and line."""

SAMPLES_SECTION: Final = "SourceCounters"
"""The section of ``ncu`` that is collected with them: samples by the state of the warp, and what
each instruction did."""

SPILLING_REQUESTS: Final = "derived__local_spilling_requests"
"""What rules of Nsight Compute count spills by; it is in no preset, and read where it is there."""
SPILLING_SHARE: Final = f"{SPILLING_REQUESTS}_pct"
"""The same in percent of all requests of local memory."""
SHARED_PIPE: Final = "sm__pipe_shared_cycles_active.avg.pct_of_peak_sustained_{}"
"""Use of the pipe that tensor cores and FP64 share, over ``elapsed`` or ``active`` cycles."""
CONFLICTS_OF: Final = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
LOCAL_BYTES_OF: Final = "l1tex__t_bytes_pipe_lsu_mem_local_op_{}.sum"
"""What captures of a few metrics often have of loads (``ld``) and stores (``st``) alone."""
TENSOR_MEMORY: Final = "sm__mem_tensor_cycles_active.avg.pct_of_peak_sustained_{}"
"""Use of tensor memory (TMEM), which tcgen05 alone has, over the same."""
WARPS_STALLED: Final = "smsp__warps_issue_stalled_{}.avg"
"""Warps in a state, summed up over the cycles of a scheduler, by the state's name."""
WARPS_STALLED_SHARE: Final = "smsp__warp_issue_stalled_{}_per_warp_active.pct"
"""The same in percent of the time of active warps."""
WARPS_OF_SM: Final = "sm__warps_active.avg.per_cycle_active"
SCHEDULER_CYCLES: Final = "smsp__cycles_active.avg"
PEAK_SHARE: Final = "{}.avg.pct_of_peak_sustained_{}"
"""A counter in percent of its peak, over ``elapsed`` or ``active`` cycles."""
COUNTERS: Final = {
    "l1tex__data_pipe_lsu_wavefronts_mem_shared": "shared-memory-throughput",
    "l1tex__data_pipe_lsu_wavefronts": "l1-throughput",
    "l1tex__lsu_writeback_active": "l1-throughput",
    "lts__t_bytes": "l2-bandwidth",
    "lts__t_sectors": "l2-bandwidth",
    "dram__bytes": "dram-bandwidth",
    "dram__throughput": "dram-bandwidth",
    "sm__pipe_tensor_cycles_active": "tensor-throughput",
    "sm__inst_executed_pipe_tensor": "tensor-throughput",
    "sm__pipe_alu_cycles_active": "integer-throughput",
    "sm__inst_executed_pipe_alu": "integer-throughput",
    "sm__pipe_fma_cycles_active": "fp32-throughput",
    "sm__inst_executed_pipe_fma": "fp32-throughput",
    "sm__pipe_fp64_cycles_active": "fp64-throughput",
    "sm__inst_executed_pipe_fp64": "fp64-throughput",
    "sm__inst_executed_pipe_xu": "sfu-throughput",
}
"""Counters that captures of a few metrics have as shares of their peaks, with what a high one
points to."""
OWN_SHARED: Final = ("launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic")
"""Shared memory of a block without what the driver takes."""
SHARED_ROOM: Final = ("launch__shared_mem_per_block_allocated", "launch__shared_mem_config_size")
"""Shared memory of a block with what the driver takes, and what an SM has for all of them."""
TCGEN05: Final = ("sm__inst_executed_pipe_tc.sum", "sm__pipe_tc_cycles_active.avg")
"""More than 0 where a kernel executes tcgen05 instructions."""


SHOWN_ONLY: Final = (
    "cluster_shared_bytes",
    "l1_requests", "l1_writeback",
    "memory_access_throughput", "memory_request_throughput",
    "shared_memory_per_block", "sm_cycles_active_min",
    "tcgen05_bf16_rate", "tcgen05_fp16_rate", "tcgen05_fp4_rate", "tcgen05_fp8_rate",
    "tcgen05_int8_rate", "tensor_memory", "tensor_memory_instructions", "tensor_operands",
    "uniform_pipe",
)  # fmt: skip
"""Metrics that reports show and comparisons list, and that neither a rule nor a relation reads."""

_Text = Annotated[str, Meta(pattern=r"\S")]
_CanonicalName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*$")]
_PresetName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]*$")]
_NcuName = Annotated[str, Meta(pattern=r"^[a-z][A-Za-z0-9_]*(\.[a-z_]+)*$")]
_SectionName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]+$")]
_Architecture = Annotated[str, Meta(pattern=f"^({'|'.join(CHIPS)}|[0-9]+\\.[0-9])$")]
"""A chip, or a compute capability such as 12.1."""


def _keys(compute_capability: tuple[int, int] | None) -> tuple[str, ...]:
    """How a preset may call this architecture, the closest first."""
    if compute_capability is None:
        return ()
    exact = "{}.{}".format(*compute_capability)
    chip = chip_of(compute_capability)
    return (exact,) if chip is None else (exact, chip)


class Metric(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One quantity under its canonical name, and what ``ncu`` calls it.

    ``ncu`` holds names of the same quantity, the one to ask for first. ``architectures`` replaces
    them where they differ, by chip (``gb202``) or by compute capability (``12.1``), the latter
    first; no name means that ``ncu`` has no counter for it there. ``only_on`` and ``not_on`` tell
    where the hardware itself has or lacks the thing that is counted. ``section`` is the section to
    ask for where ``ncu`` does not give a metric by its name. ``preset`` is the theme that defines
    the metric.
    """

    name: _CanonicalName
    ncu: Annotated[tuple[_NcuName, ...], Meta(min_length=1)]
    unit: _Text
    why: _Text
    preset: str = ""
    architectures: dict[_Architecture, tuple[_NcuName, ...]] = {}
    only_on: tuple[_Architecture, ...] = ()
    not_on: tuple[_Architecture, ...] = ()
    section: _SectionName | None = None

    def __post_init__(self) -> None:
        if self.only_on and self.not_on:
            raise ValueError("`only_on` and `not_on` are mutually exclusive")
        for names in (
            self.ncu,
            self.only_on or (),
            self.not_on or (),
            *self.architectures.values(),
        ):
            if len(set(names)) < len(names):
                raise ValueError(f"a name is listed twice in {', '.join(names)}")

    def ncu_names(self, compute_capability: tuple[int, int] | None) -> tuple[str, ...]:
        """Return the names on this architecture; empty where it has no such metric.

        An architecture that is not known is taken to have the default names.
        """
        if self.is_zero_on(compute_capability):
            return ()
        for key in _keys(compute_capability):
            if key in self.architectures:
                return self.architectures[key]
        return self.ncu

    def is_zero_on(self, compute_capability: tuple[int, int] | None) -> bool:
        """Return whether the hardware has no such unit, so that the value is zero."""
        keys = _keys(compute_capability)
        if self.only_on and chip_of(compute_capability) is not None:
            return not any(key in self.only_on for key in keys)
        return any(key in self.not_on for key in keys)

    def all_ncu_names(self) -> tuple[str, ...]:
        """Return every name that the metric has on any architecture, the default ones first."""
        return self._all_ncu_names

    @cached_property
    def _all_ncu_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(chain(self.ncu, *self.architectures.values())))


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of metrics; ``metrics`` includes those that it takes from other presets.

    ``samples`` says whether :data:`SAMPLES` are collected as well.
    """

    name: str
    title: str
    description: str
    metrics: tuple[Metric, ...]
    samples: bool = False


@cache
def presets() -> Mapping[str, Preset]:
    """Return all presets by name."""
    return MappingProxyType(load_presets(data_folder("metric_presets")))


@cache
def load_metrics() -> Mapping[str, Metric]:
    """Return all metrics by canonical name."""
    metrics = {metric.name: metric for each in presets().values() for metric in each.metrics}
    return MappingProxyType(dict(sorted(metrics.items())))


@cache
def has_tcgen05(compute_capability: tuple[int, int] | None) -> bool:
    """Return whether this architecture is known to have tcgen05 instructions and tensor memory."""
    metric = load_metrics()["tcgen05_pipe"]
    return chip_of(compute_capability) is not None and not metric.is_zero_on(compute_capability)


def column_of(name: str, values: FloatArray, origin: Origin) -> MetricColumn:
    """Return a column of a metric by its canonical name, under the first name of ``ncu``."""
    metric = load_metrics()[name]
    return MetricColumn(metric.ncu[0], values, metric.unit, metric.unit, origin)


def names_known() -> frozenset[str]:
    """Return every ``ncu`` name of a metric of a preset."""
    return _names(load_metrics().values())


@cache
def names_read() -> frozenset[str]:
    """Return every ``ncu`` name under which a diagnosis may look at a raw page."""
    read = (each for each in load_metrics().values() if each.name not in SHOWN_ONLY)
    others = {SPILLING_REQUESTS, SPILLING_SHARE, DEVICE_NAME, WARPS_OF_SM, SCHEDULER_CYCLES}
    for kind in ("ld", "st"):
        others |= {CONFLICTS_OF.format(kind), LOCAL_BYTES_OF.format(kind)}
    others |= {*OWN_SHARED, *SHARED_ROOM, *TCGEN05}
    for cycles in ("elapsed", "active"):
        others |= {SHARED_PIPE.format(cycles), TENSOR_MEMORY.format(cycles)}
        others |= {PEAK_SHARE.format(each, cycles) for each in (*COUNTERS, "sm__throughput")}
    for name in STALLS:
        others |= {WARPS_STALLED.format(name), WARPS_STALLED_SHARE.format(name)}
    return _names(read) | others


def _names(metrics: Iterable[Metric]) -> frozenset[str]:
    return frozenset(name for each in metrics for name in each.all_ncu_names())


def preset(name: str) -> Preset:
    """Return one preset; :class:`UsageError` where there is none of that name."""
    shipped = presets()
    if name not in shipped:
        raise UsageError(f"there is no preset named {name!r}", hint=_suggestion(name, shipped))
    return shipped[name]


def metrics_for(
    names: Iterable[str], compute_capability: tuple[int, int] | None = None
) -> tuple[Metric, ...]:
    """Return metrics by canonical name, without those that the architecture lacks."""
    metrics = load_metrics()
    existing: dict[str, Metric] = {}
    for name in names:
        if name not in metrics:
            raise UsageError(f"there is no metric named {name!r}", hint=_suggestion(name, metrics))
        if metrics[name].ncu_names(compute_capability):
            existing[name] = metrics[name]
    return tuple(existing.values())


def _suggestion(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=3)
    return f"did you mean {' or '.join(close)}?" if close else f"available: {', '.join(names)}"


class _PresetFile(Struct, forbid_unknown_fields=True):
    """A preset whose references to other presets are still names."""

    title: _Text
    description: _Text
    samples: bool = False
    include: tuple[_PresetName, ...] = ()
    metrics: tuple[_CanonicalName, ...] = ()
    metric: tuple[Metric, ...] = ()

    def __post_init__(self) -> None:
        if not (self.metric or self.include or self.metrics):
            raise ValueError(
                "the preset has no metrics: add [[metric]] tables, `metrics` or `include`"
            )


def load_presets(folder: Path) -> dict[str, Preset]:
    """Return all presets of a folder by name; :class:`InputError` names file and key."""
    files = {path.stem: _read_preset(path) for path in sorted(folder.glob("*.toml"))}
    metrics: dict[str, Metric] = {}
    for preset_name, file in files.items():
        for metric in file.metric:
            if metric.name in metrics:
                home = metrics[metric.name].preset
                what = f"metric {metric.name!r} is already defined in {home}.toml"
                raise _mistake(folder, preset_name, what)
            metrics[metric.name] = structs.replace(metric, preset=preset_name)

    def select_metrics(preset_name: str) -> dict[str, Metric]:
        """The metrics that a preset names, and then its own."""
        selected = {}
        for position, name in enumerate(files[preset_name].metrics):
            if name not in metrics:
                what = f"no preset defines the metric {name!r}"
                raise _mistake(folder, preset_name, what, f"metrics[{position}]")
            selected[name] = metrics[name]
        return selected | {each.name: metrics[each.name] for each in files[preset_name].metric}

    by_name = {}
    for preset_name, file in files.items():
        included: dict[str, Metric] = {}
        for position, name in enumerate(file.include):
            if name not in files or files[name].include:
                what = f"cannot include {name!r}: no such preset, or it has its own `include`"
                raise _mistake(folder, preset_name, what, f"include[{position}]")
            included |= select_metrics(name)
        everything = tuple((included | select_metrics(preset_name)).values())
        by_name[preset_name] = Preset(
            preset_name, file.title, file.description, everything, file.samples
        )
    return by_name


def _read_preset(path: Path) -> _PresetFile:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=_PresetFile)
    except msgspec.ValidationError as error:
        raise _mistake(path.parent, path.stem, *split_mistake(error)) from error
    except ValueError as error:
        raise _mistake(path.parent, path.stem, f"the file is not valid TOML: {error}") from error


def _mistake(folder: Path, preset_name: str, what: str, key: str = "") -> InputError:
    path = folder / f"{preset_name}.toml"
    return InputError(
        f"preset {preset_name}: {what}",
        where=f"{path}: {key}" if key else str(path),
        hint="see the other files in that folder for the format of a preset",
    )
