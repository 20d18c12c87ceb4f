"""A kernel without a GPU: its machine code, run block by block in NumPy, and counted."""
