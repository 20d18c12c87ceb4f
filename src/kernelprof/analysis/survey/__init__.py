"""What a survey says of a whole program: how busy its GPUs are, and what they wait for."""
