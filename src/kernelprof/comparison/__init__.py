"""Before and after one change: what happened to time, counters and verdict."""
