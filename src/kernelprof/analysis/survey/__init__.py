"""How busy the GPUs of a whole program are, what they wait for, and what to measure."""
