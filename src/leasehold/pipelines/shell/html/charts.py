"""Inline SVG for report pages: an axis of time, and curves that grow in steps. They take the width that there is.

Places along the time are percentages, so that a narrow page makes a chart narrower and not its letters smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.shell.html.markup import Html, element, join

STEPS: Final = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30,
    60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400,
)  # fmt: skip
TICKS_MAX: Final = 6
MINUTES_FROM: Final = 120  # seconds; below that, an axis counts seconds
DAY: Final = 86_400
HEIGHT: Final = 120  # of a curve, in pixels
TOP: Final = 18  # room for the name of the limit
BOTTOM: Final = 22  # room for the axis
GRID: Final = 1_000  # a curve's own units, which are stretched
POINTS_MAX: Final = 500
MARKS_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class StepCurve:
    """What something has added up to, as (seconds, total) in order; `marks`: moments to point at, with their texts."""

    points: Sequence[tuple[float, float]]
    marks: Sequence[tuple[float, float, str]]
    span: float
    limit: float | None
    limit_label: str
    label: str


def share(seconds: float, span: float) -> str:
    """Return a place on an axis of so many seconds."""
    return f"{100 * max(0.0, min(1.0, seconds / span)) if span > 0 else 0.0:.3f}%"


def time_step(span: float) -> float:
    """Return the distance between two ticks of an axis."""
    return next((step for step in STEPS if span / step <= TICKS_MAX), DAY * (1 + span // (DAY * TICKS_MAX)))


def ticks(span: float) -> list[float]:
    step = time_step(span)
    return [number * step for number in range(int(span / step + 1e-9) + 1)]


def tick_label(seconds: float, span: float) -> str:
    """Return a time since the beginning: 1.5 s, 90 s, 2:30, 1:05:00."""
    if span < MINUTES_FROM:
        return f"{seconds:.3f}".rstrip("0").rstrip(".") + " s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if span >= 3_600 else f"{minutes}:{rest:02}"  # noqa: PLR2004 — an hour


def time_axis(span: float, height: float, *, labels_at: float) -> Html:
    """Return the lines of a grid, with the times under or above it."""
    found = []
    for tick in ticks(span):
        x = share(tick, span)
        side = "start" if tick == 0 else "end" if tick > span * 0.93 else "middle"
        found.append(element("line", x1=x, x2=x, y1=0, y2=f"{height:g}", class_="grid"))
        found.append(element("text", tick_label(tick, span), x=x, y=f"{labels_at:g}", text_anchor=side, class_="tick"))
    return join(found)


def step_curve(curve: StepCurve) -> Html:
    """Draw a curve with its limit. The label is what a screen reader reads."""
    most = max([total for _, total in curve.points] + [curve.limit or 0, 1])
    parts = [
        element("g", time_axis(curve.span, HEIGHT, labels_at=HEIGHT + 16), transform=f"translate(0 {TOP})"),
        _stretched(curve, most),
        *_limit(curve, most),
        *(_mark(mark, curve.span, most) for mark in _spread(curve.marks, MARKS_MAX)),
    ]
    total = TOP + HEIGHT + BOTTOM
    return element("svg", *parts, class_="chart", width="100%", height=total, role="img", aria_label=curve.label)


def _stretched(curve: StepCurve, most: float) -> Html:
    scale = GRID / curve.span if curve.span > 0 else 0.0
    at = _thinned([(min(GRID, seconds * scale), HEIGHT * (1 - total / most)) for seconds, total in curve.points])
    steps = "".join(f"H{x:.1f}V{y:.2f}" for x, y in at) + f"H{GRID}"
    line = f"M0 {HEIGHT}{steps}"
    return element(
        "svg",
        element("path", d=f"{line}V{HEIGHT}Z", class_="area"),
        element("path", d=line, class_="curve", vector_effect="non-scaling-stroke"),
        y=TOP, width="100%", height=HEIGHT, viewBox=f"0 0 {GRID} {HEIGHT}", preserveAspectRatio="none",
    )  # fmt: skip


def _limit(curve: StepCurve, most: float) -> Iterable[Html]:
    if curve.limit is None:
        return
    y = f"{TOP + HEIGHT * (1 - curve.limit / most):.1f}"
    yield element("line", x1=0, x2="100%", y1=y, y2=y, class_="limit")
    yield element("text", curve.limit_label, x="100%", y=f"{float(y) - 5:.1f}", text_anchor="end", class_="limit-label")


def _mark(mark: tuple[float, float, str], span: float, most: float) -> Html:
    seconds, total, words = mark
    y = f"{TOP + HEIGHT * (1 - total / most):.1f}"
    return element("circle", element("title", words), cx=share(seconds, span), cy=y, r=4, class_="refused")


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the last of the points that are less than a pixel or two apart: nobody could see the others."""
    width, kept = GRID / POINTS_MAX, dict[int, tuple[float, float]]()
    for x, y in points:
        kept[int(x / width)] = (x, y)
    return list(kept.values())


def _spread(marks: Sequence[tuple[float, float, str]], most: int) -> Sequence[tuple[float, float, str]]:
    return marks if len(marks) <= most else [marks[number * len(marks) // most] for number in range(most)]
