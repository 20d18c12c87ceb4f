"""``kernelprof schema``: the JSON Schema of ``diagnose --format json``."""

from __future__ import annotations

from kernelprof.cli.output import write_text


def schema() -> None:
    """Print the JSON Schema of what `diagnose --format json` writes."""
    from kernelprof.render import json

    write_text(json.schema())
