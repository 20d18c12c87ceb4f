"""Kernels of other people, as their repositories hold them, with specifications of our own."""
