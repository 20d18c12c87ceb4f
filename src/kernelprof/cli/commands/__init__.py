"""One module a command: its function, or ``COMMAND`` for a group; ``ORDER`` is its place.

A new module is found by being here.
"""
