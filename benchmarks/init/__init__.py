"""``kernelprof init`` on kernels of other people: how many specifications leave no blank."""
