"""The GEMM ladder: its list of rungs, climbing it on a GPU, and the results of a climb."""
