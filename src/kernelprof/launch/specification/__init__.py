"""What a launch specification may hold, reading it, and its values at given sizes."""
