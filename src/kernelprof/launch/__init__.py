"""How a kernel is launched: its specification, its arguments, and what its result must be."""
