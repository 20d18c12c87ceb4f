"""Kernels over time: captures and baselines of a folder, or a baseline's committed versions."""
