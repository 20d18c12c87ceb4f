"""The GPUs that kernels are predicted for, one for each architecture: ``data/devices.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from kernelprof.analysis.metrics.architectures import architecture
from sassim.gpu import GpuModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.analysis.metrics.architectures import Capability

_FILE: Final = Path(__file__).parents[1] / "data" / "devices.toml"


@cache
def gpu_models() -> Mapping[Capability, GpuModel]:
    """Return all known GPUs by their compute capability."""
    tables = tomllib.loads(_FILE.read_text(encoding="utf-8"))["device"]
    models = [_gpu_model(**table) for table in tables]
    return MappingProxyType({model.compute_capability: model for model in models})


def _gpu_model(compute_capability: str, **values: Any) -> GpuModel:
    del values["source"]  # where the figures come from, for readers of the file
    sm = architecture(compute_capability)
    if sm is None:
        raise KeyError(compute_capability)
    return GpuModel(
        compute_capability=sm.capability,
        limits=sm.residency,
        l1_and_shared_kib=sm.l1_and_shared_kib,
        shared_kib_steps=sm.shared_kib_steps,
        fp32_lanes=sm.fp32_lanes,
        fp64_lanes=sm.fp64_lanes,
        tensor_fmas=sm.tensor_fmas,
        **values,
    )
