"""How long a launch takes, by running the recorded steps of its warps through the units of an SM."""
