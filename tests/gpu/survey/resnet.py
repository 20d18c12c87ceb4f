"""Training steps of a ResNet-50 on random pictures."""

import sys

import torch
import torchvision

torch.manual_seed(0)
model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
pictures = torch.randn(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
classes = torch.randint(0, 1000, (64,), device="cuda")
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 60):
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(pictures), classes)
    loss.backward()
    optimizer.step()
print(loss.item())
