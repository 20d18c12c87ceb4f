"""What ``import kernelprof`` offers, and all that the command line calls.

Every function takes plain values and returns a result (:mod:`kernelprof.results`) or another plain
value; none prints, and none ends the process. Errors are :class:`kernelprof.KernelprofError`.
"""
