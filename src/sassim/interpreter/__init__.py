"""Carries out machine instructions for many warps at once, with NumPy.

A register is an array of as many warps by 32 lanes, or of one row or one column where all are
alike: broadcasting then does for a loop counter once what a GPU does in every lane.
"""
