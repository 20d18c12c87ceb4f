"""What running some blocks is counted as."""
