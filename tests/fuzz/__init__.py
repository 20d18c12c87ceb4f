"""Files that are nearly right, and what the command line makes of them: ``make fuzz``."""
