"""One module a command, each with ``COMMAND`` and its place in the help, ``ORDER``.

A new module is found by being here.
"""
