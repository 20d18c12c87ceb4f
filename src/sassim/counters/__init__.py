"""Counters of executed instructions and memory accesses, by instruction and warp."""
