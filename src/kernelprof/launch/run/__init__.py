"""Building, checking and timing a kernel in a child process."""
