"""Training steps of a transformer that ``torch.compile`` compiled."""

import sys

import torch
from torch import nn


def main(steps: int) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    compiled = torch.compile(model)
    batch = torch.randn(16, 512, 1024, device="cuda")
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = compiled(batch).float().square().mean()
        loss.backward()
        optimizer.step()
    print(loss.item())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
