"""What a program does on the GPU, at nearly its own speed, before anything is measured."""
