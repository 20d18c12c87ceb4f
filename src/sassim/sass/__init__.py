"""Machine code as NVIDIA's ``nvdisasm`` prints it, read into plain values."""
