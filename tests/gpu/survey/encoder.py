"""Training steps of a small encoder; prints the seconds that its steps took."""

import sys
import time

import torch
from torch import nn


def main(steps: int) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.1, batch_first=True)
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    batch = torch.randn(16, 128, 512, device="cuda")
    wanted = torch.randn(16, 128, 512, device="cuda")
    begin = 0.0
    for step in range(steps):
        if step == 3:
            torch.cuda.synchronize()
            begin = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch), wanted)
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"loss {loss.item():.4f}, {steps - 3} steps in {time.perf_counter() - begin:.3f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 23)
