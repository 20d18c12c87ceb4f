"""``kernelprof mcp``: answers for language models, over the Model Context Protocol."""
