"""Results as documents of blocks, a file a kind of result."""
