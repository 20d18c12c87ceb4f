"""Kernels of PyTorch and Triton, one case a line, for captures of what frameworks launch.

    python3 frameworks.py once [LABEL,...]    after a warm-up, each case once between profiler start and stop,
                                              in an NVTX range of its label inside one of its group
    python3 frameworks.py time [LABEL,...]    CSV label,ms,stddev by CUDA events (20 after 3 warm-ups)

FRAMEWORKS_DEADLINE_S=<seconds> stops `once` early. A case that fails prints why and the next one goes on.
"""

import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
DEV = "cuda"
CASES = []


def case(label):
    def keep(make):
        CASES.append((label, make))
        return make

    return keep


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=DEV, dtype=dtype)


@case("torch-matmul-fp32")
def _():
    a, b = rand(2048, 2048), rand(2048, 2048)
    return lambda: a @ b


@case("torch-matmul-bf16")
def _():
    a, b = rand(4096, 4096, dtype=torch.bfloat16), rand(4096, 4096, dtype=torch.bfloat16)
    return lambda: a @ b


@case("torch-matmul-fp16-small")
def _():
    a, b = rand(256, 256, dtype=torch.float16), rand(256, 256, dtype=torch.float16)
    return lambda: a @ b


@case("torch-matmul-fp16-skinny")
def _():
    a, b = rand(1, 8192, dtype=torch.float16), rand(8192, 8192, dtype=torch.float16)
    return lambda: a @ b


@case("torch-matmul-fp64")
def _():
    a, b = rand(2048, 2048, dtype=torch.float64), rand(2048, 2048, dtype=torch.float64)
    return lambda: a @ b


@case("torch-softmax")
def _():
    x = rand(8192, 4096)
    return lambda: torch.softmax(x, dim=-1)


@case("torch-layernorm")
def _():
    x, w, b = rand(16384, 2048), rand(2048), rand(2048)
    return lambda: F.layer_norm(x, (2048,), w, b)


@case("torch-gelu-chain")
def _():
    x = rand(1 << 24)
    return lambda: 0.5 * x * (1.0 + torch.tanh(0.79788456 * x))


@case("torch-sum-all")
def _():
    x = rand(1 << 26)
    return lambda: x.sum()


@case("torch-sum-columns")
def _():
    x = rand(16384, 1024)
    return lambda: x.sum(dim=0)


@case("torch-take-scattered")
def _():
    x = rand(1 << 25)
    i = torch.randperm(1 << 24, device=DEV)
    return lambda: torch.take(x, i)


@case("torch-index-select-rows")
def _():
    x = rand(1 << 20, 64)
    i = torch.randint(0, 1 << 20, (1 << 19,), device=DEV)
    return lambda: torch.index_select(x, 0, i)


@case("torch-scatter-add-few")
def _():
    out = torch.zeros(8, device=DEV)
    i = torch.randint(0, 8, (1 << 22,), device=DEV)
    x = rand(1 << 22)
    return lambda: out.scatter_add_(0, i, x)


@case("torch-scatter-add-many")
def _():
    out = torch.zeros(1 << 22, device=DEV)
    i = torch.randperm(1 << 22, device=DEV)
    x = rand(1 << 22)
    return lambda: out.scatter_add_(0, i, x)


@case("torch-transpose-contiguous")
def _():
    x = rand(8192, 4096)
    return lambda: x.t().contiguous()


@case("torch-conv2d-fp32")
def _():
    x, w = rand(16, 64, 112, 112), rand(64, 64, 3, 3)
    return lambda: F.conv2d(x, w, padding=1)


@case("torch-depthwise-conv")
def _():
    x, w = rand(16, 128, 112, 112), rand(128, 1, 3, 3)
    return lambda: F.conv2d(x, w, padding=1, groups=128)


@case("torch-batchnorm-train")
def _():
    x = rand(32, 128, 64, 64)
    bn = torch.nn.BatchNorm2d(128).to(DEV)
    return lambda: bn(x).detach()


@case("torch-attention-fp16")
def _():
    q, k, v = (rand(4, 16, 2048, 64, dtype=torch.float16) for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v)


@case("torch-cumsum")
def _():
    x = rand(4096, 4096)
    return lambda: x.cumsum(dim=-1)


@case("torch-tiny-ops")
def _():
    x = rand(256)
    return lambda: ((x + 1.0) * 2.0).relu()


@case("torch-exp-fp64")
def _():
    x = rand(1 << 23, dtype=torch.float64)
    return lambda: torch.exp(x)


@case("torch-embedding-backward")
def _():
    weight = torch.nn.Parameter(rand(1000, 128))
    i = torch.randint(0, 1000, (1 << 16,), device=DEV)
    grad = rand(1 << 16, 128)
    return lambda: torch.ops.aten.embedding_dense_backward(grad, i, weight.shape[0], -1, False)


@case("torch-histc")
def _():
    x = rand(1 << 24)
    return lambda: torch.histc(x, bins=16, min=-4, max=4)


@case("torch-groupnorm-fp16")
def _():
    x = rand(16, 256, 64, 64, dtype=torch.float16)
    return lambda: F.group_norm(x, 32)


@case("torch-bilinear-upsample")
def _():
    x = rand(8, 64, 128, 128)
    return lambda: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


try:
    import triton
    import triton.language as tl

    @triton.jit
    def t_add(x, y, o, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        m = i < n
        tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)

    @triton.jit
    def t_strided(x, o, n, stride, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + (i * stride) % n))

    @triton.jit
    def t_softmax(x, o, cols, B: tl.constexpr):
        r = tl.program_id(0)
        i = tl.arange(0, B)
        v = tl.load(x + r * cols + i, mask=i < cols, other=-float("inf"))
        v = tl.exp(v - tl.max(v, axis=0))
        tl.store(o + r * cols + i, v / tl.sum(v, axis=0), mask=i < cols)

    @triton.jit
    def t_matmul(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        m = tl.program_id(0) * BM + tl.arange(0, BM)
        q = tl.program_id(1) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for s in range(0, n, BK):
            x = tl.load(a + m[:, None] * n + (s + k)[None, :])
            y = tl.load(b + (s + k)[:, None] * n + q[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + m[:, None] * n + q[None, :], acc.to(tl.float16))

    @triton.jit
    def t_count(x, o, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.atomic_add(o + tl.load(x + i), 1)

    @case("triton-add")
    def _():
        n = 1 << 25
        x, y, o = rand(n), rand(n), rand(n)
        return lambda: t_add[(n // 1024,)](x, y, o, n, B=1024)

    @case("triton-strided")
    def _():
        n = 1 << 24
        x, o = rand(n), rand(n)
        return lambda: t_strided[(n // 1024,)](x, o, n, 33, B=1024)

    @case("triton-softmax")
    def _():
        x, o = rand(16384, 2048), rand(16384, 2048)
        return lambda: t_softmax[(16384,)](x, o, 2048, B=2048)

    @case("triton-matmul-fp16")
    def _():
        n = 4096
        a, b, c = (rand(n, n, dtype=torch.float16) for _ in range(3))
        return lambda: t_matmul[(n // 128, n // 128)](
            a, b, c, n, BM=128, BN=128, BK=64, num_warps=8, num_stages=3
        )

    @case("triton-matmul-fp16-tiles-16")
    def _():
        n = 1024
        a, b, c = (rand(n, n, dtype=torch.float16) for _ in range(3))
        return lambda: t_matmul[(n // 16, n // 16)](a, b, c, n, BM=16, BN=16, BK=16, num_warps=1)

    @case("triton-count-few")
    def _():
        n = 1 << 22
        x = torch.randint(0, 4, (n,), device=DEV, dtype=torch.int32)
        o = torch.zeros(4, device=DEV, dtype=torch.int32)
        return lambda: t_count[(n // 1024,)](x, o, n, B=1024)

except Exception as error:  # no Triton: the other cases still count
    print(f"no triton: {error}", flush=True)


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else "time"
    only = sys.argv[2].split(",") if len(sys.argv) > 2 else None
    limit = float(os.environ.get("FRAMEWORKS_DEADLINE_S", "1e9"))
    start = time.monotonic()
    if mode == "time":
        print("label,ms,stddev")
    for label, make in CASES:
        if only and label not in only:
            continue
        if mode == "once" and time.monotonic() - start > limit:
            print(f"stopped before {label}", flush=True)
            break
        try:
            run = make()
            for _ in range(3):
                run()
            torch.cuda.synchronize()
            if mode == "once":
                print(f"launch {label}", flush=True)
                torch.cuda.nvtx.range_push(label.split("-")[0])
                torch.cuda.nvtx.range_push(label)
                torch.cuda.profiler.start()
                run()
                torch.cuda.synchronize()
                torch.cuda.profiler.stop()
                torch.cuda.nvtx.range_pop()
                torch.cuda.nvtx.range_pop()
            else:
                times = []
                for _ in range(20):
                    a, b = (
                        torch.cuda.Event(enable_timing=True),
                        torch.cuda.Event(enable_timing=True),
                    )
                    a.record()
                    run()
                    b.record()
                    b.synchronize()
                    times.append(a.elapsed_time(b))
                print(
                    f"{label},{statistics.mean(times):.6f},{statistics.stdev(times):.6f}",
                    flush=True,
                )
        except Exception as error:
            print(f"failed {label}: {type(error).__name__}: {error}", flush=True)
        run = None
        torch.cuda.empty_cache()


main()
