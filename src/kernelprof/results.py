"""What the functions of :mod:`kernelprof` return: values of the model that show themselves.

A capture and the results made of it are plain values (``kernelprof.model``); these are the same
values, as tables of pandas, as text, and in a notebook.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

from kernelprof.errors import InputError, UsageError
from kernelprof.model import capture, diagnosis
from kernelprof.model.kernel_name import function_name, list_names, name_pattern
from kernelprof.model.numbers import count
from kernelprof.sources.source import Contents
from kernelprof.suggestions import similar_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.manifest import Manifest, SourceFacts
    from kernelprof.model.prediction import PredictionFacts

    Result = TypeVar("Result")

PathLike = str | os.PathLike[str]
Names = Literal["canonical", "ncu"]

_LAUNCH = ("id", "kernel", "grid", "block", "stream")


class Meter(Protocol):
    """Shows how far something is: a bar on a terminal, a widget in a notebook."""

    def steps(self, what: str, total: int, unit: str) -> Callable[[int], object] | None:
        """What to call with each step of so many in total; ``None`` where nobody watches."""
        ...


class Shown:
    """Shows itself in a notebook and as text, by the document that all formats are made of."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self: Any) -> str:
        return (
            f"<{type(self).__name__.removesuffix('View')} of {count(len(self.kernels), 'kernel')}>"
        )

    def to_text(self: Any, output_format: str = "text", **options: Any) -> str:
        """The result as the command line writes it: ``text``, ``markdown``, ``json`` and so on.

        Raises :class:`UsageError` for a format that is not offered for this kind of result.
        """
        from kernelprof.report.render import render_result

        return render_result(self, output_format, **options)

    def _repr_html_(self: Any) -> str:
        from kernelprof.report.render import render_fragment

        return render_fragment(self)


@dataclass(frozen=True, repr=False)
class CaptureView(capture.Capture):
    """Launches with metrics, and what is known beside the counters.

    ``contents`` has the manifest, which says how it was made, and how often warps were seen at each
    source line, where that was recorded. ``remarks`` say what was checked, timed and run for it,
    ``recorded`` that this was not done now and here.
    """

    contents: Contents = field(default_factory=lambda: Contents(Path()))
    remarks: tuple[str, ...] = ()
    recorded: bool = False

    def __repr__(self) -> str:
        return f"<Capture {self.origin}: {count(len(self), 'launch')}>"

    @property
    def manifest(self) -> Manifest | None:
        """How the capture was made; ``None`` for an export."""
        return self.contents.manifest

    @property
    def prediction(self) -> PredictionFacts | None:
        """What was predicted beside the counters, each access with its line; ``None``: measured."""
        return self.contents.prediction

    @property
    def inferred(self) -> SourceFacts | None:
        """The source whose launch was inferred; ``None`` where a specification says it."""
        return self.contents.inferred

    def diagnose(
        self, kernel: str | None = None, *, preset: str | None = None, meter: Meter | None = None
    ) -> DiagnosisView:
        """What limits each kernel of the capture.

        ``kernel`` is a regular expression: only kernels whose name it matches are diagnosed.
        ``preset`` names what the commands for missing metrics collect, instead of just those.
        Raises :class:`InputError` where no kernel's name matches.
        """
        from kernelprof.analysis.verdict import diagnose

        name = Path(self.origin).name
        progress = None if meter is None else meter.steps(f"judging {name}", len(self), "launches")
        judged = diagnose(self, preset=preset, progress=progress)
        if self.contents.survey is not None:
            from kernelprof.analysis.survey.matching import with_survey

            judged = with_survey(judged, self.contents.survey)
        result = as_result(DiagnosisView, judged, capture=self)
        return result if kernel is None else select_kernels([result], kernel)[0]

    def to_pandas(self, names: Names = "canonical") -> pd.DataFrame:
        """One row a launch: who was launched, then its metrics; NaN is missing, never zero.

        ``names`` are kernelprof's own, the same for every version of ``ncu`` and every GPU, or
        those of the export. ``attrs["units"]`` has the unit of each metric, ``attrs["origins"]``
        where its values come from (``measured``, ``derived``, ``launch``,
        ``reported``, ``predicted``, ``compiler``).
        """
        import pandas as pd

        if names not in ("canonical", "ncu"):
            what = f"names={names!r} is not valid"
            raise UsageError(what, hint='use "canonical" or "ncu"')
        columns = _canonical(self) if names == "canonical" else _as_exported(self)
        devices = self.text.get(capture.DEVICE_NAME) or (None,) * len(self)
        launches = list(self.launches)
        table = pd.DataFrame(
            {
                **{name: [getattr(each, name) for each in launches] for name in _LAUNCH},
                "gpu": list(devices),
                **{name: values for name, values, _, _ in columns},
            }
        )
        table.attrs["units"] = {name: unit for name, _, unit, _ in columns}
        table.attrs["origins"] = {name: origin for name, _, _, origin in columns}
        return table

    def report(self, file: PathLike) -> None:
        """Write the page of the capture and its diagnosis, one HTML file."""
        self.diagnose().report(file)


Side: TypeAlias = "PathLike | CaptureView | Sequence[PathLike | CaptureView]"
"""One side of a comparison: a capture, or several runs of the same code."""

_Column = tuple[str, Any, str, str]


def _canonical(capture_read: capture.Capture) -> list[_Column]:
    """Metrics by our names: values, unit and origin of those that some launch has."""
    from kernelprof.analysis.metrics.catalogue import load_metrics
    from kernelprof.analysis.metrics.facts import Facts

    facts = Facts(capture_read)
    return [
        (name, facts.values(name), metric.unit, facts.source(name, int(has.argmax())).value)
        for name, metric in load_metrics().items()
        if (has := facts.has(name)).any()
    ]


def _as_exported(capture_read: capture.Capture) -> list[_Column]:
    return [
        (name, column.values, column.unit, column.source.value)
        for name, column in capture_read.columns.items()
        if not name.startswith(capture.OWN_COLUMNS)
    ]


@dataclass(frozen=True, slots=True)
class Figure:
    """Charts that a notebook shows; ``html`` is a frame with them."""

    html: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.html


@dataclass(frozen=True, slots=True, repr=False)
class DiagnosisView(Shown, diagnosis.Diagnosis):
    """What limits the kernels of a capture, those that took most time first."""

    capture: CaptureView = field(kw_only=True)

    def __iter__(self) -> Iterator[KernelDiagnosis]:
        return iter(self.kernels)

    def __getitem__(self, name: str) -> KernelDiagnosis:
        """Return the kernel of a name, as ``ncu`` or a report has it; of several the costliest.

        Raises :class:`KeyError`, which names similar kernels.
        """
        names = [(each, (each.name, function_name(each.name))) for each in self.kernels]
        for kernel, both in names:
            if name in both:
                return kernel
        near = similar_name(name, (both[1] for _, both in names))
        listed = list_names(each.name for each in self.kernels)
        listed = f"did you mean {near}? {listed}" if near else listed
        raise KeyError(f"no kernel is called {name!r}; {listed}")

    def plot(self, chart: str = "roofline", kernel: str | None = None) -> Figure:
        """Draw a chart of the report of each kernel, or of one, for a notebook.

        ``chart`` is ``overview`` (of several kernels), ``memory``, ``roofline``, ``warps``,
        ``pipes``, ``occupancy`` or ``instructions``. Raises :class:`UsageError` for a chart that
        the capture has no counters for.
        """
        from kernelprof.report.render import render_charts

        shown = self if kernel is None else replace(self, kernels=(self[kernel],))
        return Figure(render_charts(shown, chart))

    def report(self, file: PathLike) -> None:
        """Write the page of the capture and its diagnosis, one HTML file."""
        from kernelprof.report.render import render_page

        Path(file).write_text(render_page(self), encoding="utf-8")

    def to_pandas(self) -> pd.DataFrame:
        """One row a kernel: who it is, time, verdict, confidence, gain and evidence in words.

        ``gain`` is an estimate, ``gain_low`` and ``gain_high`` are its interval.
        ``attrs["units"]`` has the units. :meth:`evidence` has the evidence as a table.
        """
        import pandas as pd

        table = pd.DataFrame([_kernel_row(kernel) for kernel in self.kernels])
        table.attrs["units"] = {
            "duration_ns": "ns",
            "duration_min_ns": "ns",
            "duration_max_ns": "ns",
            "share": "share of the total kernel time",
            "gain": "run-time ratio",
            "gain_low": "run-time ratio",
            "gain_high": "run-time ratio",
        }
        return table

    def evidence(self) -> pd.DataFrame:
        """One row a fact: the kernel, the metric with value, unit and origin, and the threshold."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "kernel": kernel.name,
                    "metric": each.metric,
                    "label": each.label,
                    "value": each.value,
                    "op": each.op,
                    "threshold": each.threshold,
                    "unit": each.unit,
                    "origin": each.source.value,
                    "formula": each.formula,
                }
                for kernel in self.kernels
                for each in kernel.verdict.evidence
            ]
        )


Capture: TypeAlias = CaptureView
Diagnosis: TypeAlias = DiagnosisView


def _kernel_row(kernel: KernelDiagnosis) -> dict[str, Any]:
    from kernelprof.report.documents.verdict import fact_text

    verdict, time = kernel.verdict, kernel.duration_ns
    return {
        "kernel": kernel.name,
        "grid": kernel.grid,
        "block": kernel.block,
        "launches": kernel.launches,
        "duration_ns": None if time is None else time.median,
        "duration_min_ns": None if time is None else time.low,
        "duration_max_ns": None if time is None else time.high,
        "share": kernel.share,
        "status": verdict.status.value,
        "bottleneck": verdict.bottleneck,
        "confidence": verdict.confidence.value,
        "gain": verdict.gain,
        "gain_low": None if verdict.gain_interval is None else verdict.gain_interval[0],
        "gain_high": None if verdict.gain_interval is None else verdict.gain_interval[1],
        "evidence": "; ".join(map(fact_text, verdict.evidence)),
        "also": ", ".join(each.bottleneck for each in verdict.also),
        "command": verdict.command,
        "ids": list(kernel.ids),
    }


def as_result(kind: type[Result], value: Any, **more: Any) -> Result:
    """A value of the model as the result that shows it."""
    return kind(**({each.name: getattr(value, each.name) for each in fields(value)} | more))


def select_kernels(diagnoses: Sequence[Diagnosis], kernel: str) -> list[Diagnosis]:
    """The diagnoses with the kernels whose name the regular expression ``kernel`` matches.

    One without such a kernel is left out; :class:`InputError` where that are all.
    """
    pattern = name_pattern(kernel)
    matches = [
        replace(each, kernels=tuple(k for k in each.kernels if pattern.search(k.name)))
        for each in diagnoses
    ]
    matching = [each for each in matches if each.kernels]
    if not matching:
        raise InputError(
            f"no kernel's name matches {kernel!r}",
            where=", ".join(each.origin for each in diagnoses),
            hint=list_names(k.name for each in diagnoses for k in each.kernels),
        )
    return matching
