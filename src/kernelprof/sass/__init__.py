"""NVIDIA's machine code (SASS) as its tools print it, read into plain values."""
