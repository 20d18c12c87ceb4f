"""Sources that somebody else's program proposes: asked for, and held to the original's problem."""
