"""tensor-throughput: the tensor cores are the limit."""

from __future__ import annotations

from kernelprof.analysis.advice import Advice
from kernelprof.analysis.advice.conditions import since
from kernelprof.analysis.rules import Docs, Headline, near_limit, pipe_rule

LOWER_PRECISION = Advice(
    "Use a lower precision: FP8 instead of BF16.",
    when=since(8, 9, "FP8 tensor cores"),
)
SPARSITY = Advice(
    "Use structured sparsity where the model allows.",
    when=since(8, 0, "sparse tensor cores"),
)
SKIPPED_WORK = Advice("Skip work: causal masks, block sparsity.")

RULE = pipe_rule(
    slug="tensor-throughput",
    title="Tensor-core throughput",
    order=200,
    pipe="tensor_pipe",
    label="tensor pipe",
    limit=near_limit("the same band for every pipe"),
    headline=Headline(
        plain="The tensor cores are what takes the time: they are the busiest part of the GPU.",
        numbered="The tensor cores are what takes the time: they are {x} busy.",
        metric="tensor_pipe",
        at_limit="The tensor cores are about as busy as they get",
    ),
    docs=Docs(
        detects="Matrix instructions that keep the tensor cores busy.",
        matters="Tensor cores are the fastest arithmetic on the chip; a kernel that fills them "
        "is as fast as its precision allows.",
        example="A large BF16 matrix product from cuBLAS keeps them busy 9 cycles out of 10.",
        fixes=(
            LOWER_PRECISION,
            SPARSITY,
            SKIPPED_WORK,
        ),
        caller=(LOWER_PRECISION, SPARSITY, SKIPPED_WORK),
        wrong_when="Power limits lower the clock of such kernels, so that time can move without"
        " any counter.",
        references=("Nsight Compute, Compute Workload Analysis: Tensor pipe",),
    ),
)
