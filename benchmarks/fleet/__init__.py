"""What a fleet takes: two GPUs against one, two profilers at once, a large store, many captures."""
