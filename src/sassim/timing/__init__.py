"""How long a launch takes: the recorded steps of its warps, run through the units of an SM."""
