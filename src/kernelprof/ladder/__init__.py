"""The GEMM ladder: its list of rungs, climbing it on a GPU, and the reports about the climb."""
