"""A manifest with a value for each key, from which tests make others."""

from __future__ import annotations

from kernelprof.model.manifest import (
    CompilerWarning,
    CorrectnessFacts,
    GpuFacts,
    Manifest,
    PresetFacts,
    RunFacts,
    SourceFacts,
    TimingFacts,
)

RUN = RunFacts(
    command=("ncu", "./app"),
    raw="raw.csv.gz",
    raw_sha256="0" * 64,
    report="capture.ncu-rep",
    why="preset triage",
    metrics=("gpu__time_duration.sum",),
    launches=26,
    passes=100,
    seconds=1.5,
    kernels=("copy",),
    unavailable=("x__y.sum",),
    warnings=("A warning.",),
    lines="lines.csv.gz",
    lines_sha256="1" * 64,
)
FULL = Manifest(
    created="2026-11-20T20:10:42Z",
    kernelprof="0.1.0",
    target=("./app", "1"),
    ncu="2025.3.1.0",
    driver="580.1",
    cuda="13.0",
    gpu=GpuFacts("NVIDIA H200", "9.0", 1980.0, 3201.0, 1980.0, 3201.0),
    clock_control="none",
    runs=(RUN,),
    preset=PresetFacts("full", "a" * 64),
    unavailable=("x__y.sum",),
    source=SourceFacts(
        "k.cu",
        "b" * 64,
        {"kernel": "k"},
        "c" * 64,
        "nvcc 13.0",
        ("-O3",),
        compile_sha256="d" * 64,
        includes={"tile.cuh": "e" * 64},
        resources={"registers": 40},
        compiler_warnings=(CompilerWarning("C7508", "ignored"), CompilerWarning("C7510", "x", "f")),
    ),
    timing=TimingFacts(
        20, 3, 1e6, 9e5, 1.1e6, 9.9e5, 1.01e6, times_ns=(9e5, 1.1e6), flops=2e9, min_bytes=1e6
    ),
    correctness=CorrectnessFacts(True, "gemm", 1e-6, 1e-4, {"M": 250}),
)
