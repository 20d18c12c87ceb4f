"""Many kernels on many GPUs: a plan, who runs it, the store of what was measured, and questions."""
