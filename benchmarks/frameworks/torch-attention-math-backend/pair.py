"""Attention over 64 heads of 1024 tokens in bfloat16, by two backends of PyTorch."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

TOLERANCE = 0.02
SHAPE = (4, 16, 1024, 128)


def inputs():
    return tuple(torch.randn(*SHAPE, dtype=torch.bfloat16) for _ in range(3))


def expected(q, k, v):
    q, k, v = q.double(), k.double(), v.double()
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1) @ v


def before(q, k, v):
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(q, k, v)


def after(q, k, v):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return scaled_dot_product_attention(q, k, v)
