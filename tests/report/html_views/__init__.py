"""Reports as plain values, from real captures."""
