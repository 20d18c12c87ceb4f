"""What a source shows about the launch of its kernel: a first specification for `init`."""
