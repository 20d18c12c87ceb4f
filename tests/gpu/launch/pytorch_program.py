"""A PyTorch program: a product of matrices, and an addition that device memory holds up."""

import torch

x = torch.rand(1 << 26, device="cuda")
a = torch.rand(2048, 2048, device="cuda")
torch.matmul(a, a)
torch.add(x, 1.0)
torch.cuda.synchronize()
