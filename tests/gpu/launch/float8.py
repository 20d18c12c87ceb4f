"""The reference of ``float8.cu``."""


def float8(a, b, scale):
    """Products are exact in float32; sums are rounded to float8 by the kernel."""
    return {"product": a * b * scale, "sum": a + b}
