"""Compiling a kernel with ``nvcc`` in a way that no shell reads untrusted text."""
