"""Results as documents of blocks, one file a kind of result."""
