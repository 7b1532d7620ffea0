"""Bar charts as SVG: plain text and rectangles, readable on light and dark pages. Standard library only. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

WIDTH = 720
LEFT = 150
RIGHT = 130
TOP = 64
BAR = 22
GAP = 10
BOTTOM = 34
STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1f2328 }
    .title { font-size: 16px; font-weight: 600 }
    .faint { fill: #59636e; font-size: 12px }
    .bar { fill: #8c959f } .ours { fill: #0969da }
    .open { fill: none; stroke: #8c959f; stroke-dasharray: 4 3 }
    .grid { stroke: #d1d9e0 } .spread { stroke: #1f2328; stroke-width: 1.5; fill: none }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc } .faint { fill: #9198a1 }
      .bar { fill: #656c76 } .ours { fill: #4493f8 } .grid { stroke: #3d444d } .spread { stroke: #f0f6fc }
      .open { stroke: #656c76 }
    }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `value` is None where its end is unknown, and `text` has the reason; it is longer than `limit`."""

    name: str
    value: float | None
    text: str
    least: float | None = None
    most: float | None = None
    is_ours: bool = False
    limit: float = 0.0

    @property
    def kind(self) -> str:
        """How it is drawn."""
        if self.value is None:
            return "open"
        return "ours" if self.is_ours else "bar"

    @property
    def end(self) -> float:
        """What of it must fit on the axis."""
        return max(self.value or self.limit, self.most or 0.0)


@dataclass(frozen=True, slots=True)
class Chart:
    """A title, an axis and bars."""

    title: str
    axis: str
    bars: list[Bar]

    def svg(self) -> str:
        """Return the document."""
        height = TOP + len(self.bars) * (BAR + GAP) + BOTTOM
        top = nice(max((bar.end for bar in self.bars), default=1.0))
        box = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(self.title, quote=True)}"'
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box}>',
            f"<style>{STYLE}</style>",
            f'<text class="title" x="12" y="26">{escape(self.title)}</text>',
            f'<text class="faint" x="12" y="46">{escape(self.axis)}</text>',
            *self._grid(top, height),
            *(line for number, bar in enumerate(self.bars) for line in _bar(bar, number, top)),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _grid(self, top: float, height: int) -> list[str]:
        lines = []
        for quarter in range(5):
            x = LEFT + (WIDTH - LEFT - RIGHT) * quarter / 4
            lines.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - BOTTOM + 4}"/>')
            label = escape(short(top * quarter / 4))
            lines.append(f'<text class="faint" x="{x:.1f}" y="{height - 12}" text-anchor="middle">{label}</text>')
        return lines


def _bar(bar: Bar, number: int, top: float) -> list[str]:
    y = TOP + number * (BAR + GAP)
    middle = y + BAR / 2
    lines = [f'<text x="{LEFT - 10}" y="{middle + 4.5:.1f}" text-anchor="end">{escape(bar.name)}</text>']
    width = max(1.0, _across(bar.value or bar.limit, top) - LEFT)
    end = LEFT + width
    lines.append(f'<rect class="{bar.kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>')
    if bar.least is not None and bar.most is not None and bar.most > bar.least:
        low, high = _across(bar.least, top), _across(bar.most, top)
        end = max(end, high)
        ends = f"M{low:.1f} {middle - 5}v10M{low:.1f} {middle}H{high:.1f}M{high:.1f} {middle - 5}v10"
        lines.append(f'<path class="spread" d="{ends}"/>')
    lines.append(f'<text x="{end + 8:.1f}" y="{middle + 4.5:.1f}">{escape(bar.text)}</text>')
    return lines


def _across(value: float, top: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, value / top)


def nice(value: float) -> float:
    """Return the end of an axis: the next round number."""
    if value <= 0:
        return 1.0
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if power * step >= value)


def short(value: float) -> str:
    """Return a number as a person would write it on an axis."""
    if value >= 1_000:
        return f"{value / 1_000:,.4g}k"
    return f"{value:.3g}"
