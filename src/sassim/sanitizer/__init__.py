"""Checks of what ``compute-sanitizer`` finds on a GPU, as observers of the interpreter."""
