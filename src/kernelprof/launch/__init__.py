"""A kernel alone: its specification, its build, its launch, and the check of its result."""
