"""Kernels whose bottleneck is known from what its fix brought: how often is the verdict right?"""
