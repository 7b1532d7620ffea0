"""A time line as inline SVG: a row for each thing; where there are too many, things in sequence share one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.shell.html.charts import share, time_axis
from leasehold.pipelines.shell.html.markup import Html, element
from leasehold.pipelines.shell.html.page import Tone

ROWS_MAX: Final = 40  # with more, things share rows
ROW: Final = 26  # pixels
BAR: Final = 14
AXIS: Final = 24
NAME_MAX: Final = 60


@dataclass(frozen=True, slots=True)
class TimelineSpan:
    """A thing on a time line, in seconds since its beginning: it waited, from `start` on it ran, then it ended."""

    name: str
    words: str
    link: str
    tone: Tone
    waited: float
    start: float | None
    end: float


def time_line(spans: Sequence[TimelineSpan], span: float, label: str) -> Html:
    """Draw spans in their order; what never ran has no bar, only the time in which it waited."""
    rows = [[one] for one in spans] if len(spans) <= ROWS_MAX else packed(spans)
    height = AXIS + ROW * len(rows)
    is_packed = len(rows) != len(spans)
    bars = [bar for number, row in enumerate(rows) for one in row for bar in _bar(one, number, span)]
    waits = [] if is_packed else [line for number, one in enumerate(spans) for line in _wait(one, number, span)]
    svg = element(
        "svg",
        time_axis(span, height, labels_at=14),
        *waits,
        *bars,
        width="100%", height=height, role="group", aria_label=label,
    )  # fmt: skip
    if is_packed:
        return element("div", svg, class_="timeline packed")
    names = (element("li", element("a", one.name[:NAME_MAX], href=one.link)) for one in spans)
    return element("div", element("ol", *names), svg, class_="timeline")


def packed(spans: Sequence[TimelineSpan]) -> list[list[TimelineSpan]]:
    """Put spans that ran into as few rows as ran at the same time; each in the first row that was free."""
    rows: list[list[TimelineSpan]] = []
    for one in sorted((one for one in spans if one.start is not None), key=lambda one: one.start or 0.0):
        free = (row for row in rows if row[-1].end <= (one.start or 0.0))
        row = next(free, None)
        if row is None:
            rows.append([one])
        else:
            row.append(one)
    return rows


def _wait(one: TimelineSpan, row: int, span: float) -> Iterator[Html]:
    until = one.end if one.start is None else one.start
    if until > one.waited:
        y = f"{_middle(row):g}"
        x1, x2 = share(one.waited, span), share(until, span)
        yield element("line", x1=x1, x2=x2, y1=y, y2=y, class_="waited")


def _bar(one: TimelineSpan, row: int, span: float) -> Iterator[Html]:
    if one.start is not None:
        width, y = share(one.end - one.start, span), f"{_middle(row) - BAR / 2:g}"
        bar = element("rect", x=share(one.start, span), y=y, width=width, height=BAR, rx=3)
        yield element("a", element("title", one.words), bar, href=one.link, class_=f"bar {one.tone}")


def _middle(row: int) -> float:
    return AXIS + ROW * (row + 0.5)
