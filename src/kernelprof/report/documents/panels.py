"""What each part of the GPU did for one kernel: roofline, memory, warps, pipes, occupancy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import share
from kernelprof.report.charts import bars, roofline
from kernelprof.report.document import Chart, Note, Paragraph, Section
from kernelprof.report.figures import memory as bytes_of
from kernelprof.report.figures import multiprocessor
from kernelprof.report.figures.counted_mix import counted_mix, in_words
from kernelprof.report.figures.opcode_mix import opcode_mix
from kernelprof.report.figures.roofline import roofline as roofline_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.analysis.rules import Place
    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.model.sampled import SampledCode
    from kernelprof.report.document import Block
    from kernelprof.report.figures.flops import Counted
    from kernelprof.report.figures.measured import Launch

NOTABLE_EXCESS: Final = 0.01


def panels(
    name: str,
    launch: Launch,
    manifests: tuple[Manifest | None, Manifest | None],
    counted: Counted | None,
    place: Place | None,
    *,
    code: SampledCode | None,
) -> Iterable[Section]:
    """What each part of the GPU did; of the ``manifests`` the first is given where it describes
    this kernel, the second where there is one at all.

    ``place`` is where the verdict says that the kernel is held back, ``code`` its instructions.
    """
    own, manifest = manifests
    timing = None if own is None else own.timing
    yield from _memory(launch, timing, own, place)
    if found := roofline_of(launch, counted, timing, manifest, place):
        rows = roofline.rows(found.points, found.ceilings)
        chart = Chart("roofline", rows, f"Roofline: {name} at each level of the memory")
        yield Section("Roofline", (*([chart] if rows else ()), Note(found.note)))
    if states := multiprocessor.warp_states(launch):
        title = "Where a warp's time goes"
        yield from _shares(title, "warps", states.states, states.explained)
    yield from _shares("Pipes", "pipes", multiprocessor.pipes(launch))
    yield from _occupancy(launch)
    mix = opcode_mix(code) or counted_mix(launch)
    yield from _shares("Instruction mix", "instructions", mix, in_words(mix))


def _shares(
    title: str, what: str, parts: Iterable[bars.Share], explained: str = ""
) -> Iterable[Section]:
    if rows := bars.share_rows(parts):
        chart = Chart(f"shares:{what}", rows, f"{bars.TITLES[what]}, each part by its name")
        yield Section(title, (chart, *([Paragraph(explained)] if explained else ())))


def _memory(
    launch: Launch, timing: TimingFacts | None, own: Manifest | None, place: Place | None
) -> Iterable[Section]:
    found = bytes_of.memory(launch, timing, own)
    if found is None:
        return
    blocks: list[Block] = []
    if rows := bytes_of.chart(found, place):
        blocks.append(Chart("memory", rows, "Bytes on the way from the threads to device memory"))
    if found.excess is not None and found.excess >= NOTABLE_EXCESS:
        needless = f"{share(found.excess)} of the sectors of global accesses are not needed."
        blocks.append(Paragraph(needless))
    if found.note:
        blocks.append(Note(found.note))
    yield Section("Memory", tuple(blocks))


def _occupancy(launch: Launch) -> Iterable[Section]:
    found = multiprocessor.occupancy(launch)
    if found is None:
        return
    text = f"Theoretical {share(found.theoretical)}"
    text += "." if found.achieved is None else f", achieved {share(found.achieved)}."
    if found.limiters:
        text += f" Limited by {', '.join(found.limiters)}."
    rows = tuple(
        {"name": name, "blocks": blocks, "text": f"{blocks}", "first": name in found.limiters}
        for name, blocks in found.limits
    )
    chart = Chart("occupancy", rows, "Blocks per SM that each resource allows")
    note = (Note(found.note),) if found.note else ()
    yield Section("Occupancy", (Paragraph(text), chart, *note))
