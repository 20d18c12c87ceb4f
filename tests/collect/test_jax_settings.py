"""What programs find in their environment, so that ``ncu`` can measure those that use JAX."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelprof.collect.failures import NcuOutcome, explain_failure
from kernelprof.collect.jax_settings import COMPILED, shared_environment


def test_jax_compiles_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME", "thing")
    with shared_environment() as variables:
        folder = Path(variables[COMPILED])
        assert folder.is_dir()
        assert variables["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
        assert variables["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] == "0"
        assert variables["SOME"] == "thing"
    assert not folder.exists()


def test_a_user_keeps_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPILED, "/mine")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true")
    with shared_environment() as variables:
        assert variables[COMPILED] == "/mine"
        assert variables["XLA_PYTHON_CLIENT_PREALLOCATE"] == "true"
        assert "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in variables


@pytest.mark.parametrize(("code", "told"), [(139, True), (-11, True), (1, False)])
def test_a_crash_of_ncu_names_the_flag_for_jax(code: int, told: bool) -> None:
    error = explain_failure(NcuOutcome(code, ("==PROF== Connected to process 1 (/x)",)))
    assert error is not None
    assert ("--xla_gpu_force_compilation_parallelism=1" in (error.hint or "")) is told
