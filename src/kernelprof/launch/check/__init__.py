"""Array values, references, and the comparison of a result with them."""
