"""The command line: one thin module a command, assembled in :mod:`kernelprof.cli.main`."""
