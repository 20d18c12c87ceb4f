"""kernelprof: what holds a CUDA kernel back, and what is the evidence?"""

__version__ = "0.1.0"
