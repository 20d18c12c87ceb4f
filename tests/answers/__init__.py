"""What the command line answered before the library was rebuilt, and what it answers now."""
