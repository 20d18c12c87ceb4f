"""From metrics to a verdict: pure functions over the launches of a capture."""
