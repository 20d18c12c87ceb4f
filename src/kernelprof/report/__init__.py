"""Outputs: pure functions from model values to text; nothing here reads a capture or a GPU."""
