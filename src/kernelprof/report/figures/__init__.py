"""Numbers that pages show of a launch, worked out from its metrics; plain values."""
