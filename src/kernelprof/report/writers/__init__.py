"""A document in one format: a file (or a package) a format."""
