"""Results as documents, one file a kind of result."""

from collections.abc import Mapping
from typing import Final

from kernelprof.model.diagnosis import Status
from kernelprof.report.document import Tone
from kernelprof.report.private import without_homes

TONES: Final[Mapping[str, Tone]] = {
    Status.BOTTLENECK: Tone.BAD,
    Status.AT_LIMIT: Tone.GOOD,
    Status.INCONCLUSIVE: Tone.OPEN,
}
"""What a verdict's status means for the reader; results that were saved may have any word there."""


def write_data(result: object) -> str:
    """A result as the JSON that its page carries, without the folders of users."""
    from kernelprof.report.writers import json

    return without_homes(json.write(result))
