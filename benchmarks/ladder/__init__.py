"""Measurements on the GEMM ladder: what the drill-down saves, and what other block shapes bring."""
