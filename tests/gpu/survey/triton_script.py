"""A row softmax of Triton, and PyTorch's beside it."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, values / tl.sum(values, axis=0), mask=at < columns)


def main() -> None:
    rows, columns = 16384, 2000
    x = torch.randn(rows, columns, device="cuda")
    out = torch.empty_like(x)
    for _ in range(20):
        softmax[(rows,)](out, x, columns, BLOCK=triton.next_power_of_2(columns))
    for _ in range(5):
        wanted = torch.softmax(x, dim=1)
    print(torch.allclose(out, wanted))


if __name__ == "__main__":
    main()
