"""What report pages are made of: tables, facts, tiles of figures, pills, meters, folded text, filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from leasehold.pipelines.shell.html.markup import Html, element, join, multiline, text
from leasehold.pipelines.shell.html.page import Tone, sign

PERCENT: Final = 100.0


def facts(rows: Iterable[tuple[str, object]]) -> Html:
    """Return names with values, one a line."""
    pairs = (element("div", element("dt", name), element("dd", value)) for name, value in rows)
    return element("dl", *pairs, class_="facts")


def tiles(rows: Iterable[tuple[str, object, object]]) -> Html:
    """Return figures that one sees first: name, figure, and a small remark."""
    pairs = (
        element("div", element("dt", name), element("dd", figure, element("small", remark) if remark else None))
        for name, figure, remark in rows
    )
    return element("dl", *pairs, class_="tiles")


Row = Sequence[object]


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of a table's columns; `title`: the one that names a row, `numbers`: those of figures."""

    names: Sequence[str]
    title: str = ""
    numbers: Sequence[str] = ()

    def cell(self, name: str, value: object) -> Html:
        if name == self.title:
            return element("th", value, scope="row")
        return element("td", value, data_label=name, class_=self._kind(name))

    def heads(self) -> Iterator[Html]:
        return (element("th", name, scope="col", class_=self._kind(name)) for name in self.names)

    def _kind(self, name: str) -> str | None:
        return "number" if name in self.numbers else None


def table(columns: Columns, rows: Iterable[Row], attributes: Iterable[Mapping[str, str]] = repeat({})) -> Html:
    """Return a table; where the page is narrow, each row becomes a card. `attributes`: of each row."""
    made = []
    for row, extra in zip(rows, attributes, strict=False):
        cells = (columns.cell(name, value) for name, value in zip(columns.names, row, strict=True))
        made.append(element("tr", *cells, **extra))
    head = element("thead", element("tr", *columns.heads()))
    return element("div", element("table", head, element("tbody", *made)), class_="scroll")


def pill(word: str, tone: Tone) -> Html:
    return element("span", sign(tone), word, class_=f"pill {tone}")


def no_meter() -> Html:
    """Return the room of a meter, where others on a row have one."""
    return element("div", class_="meter none")


def meter(share: float, tone: Tone, label: str) -> Html:
    """Return a bar that is filled by a share from 0 to 1."""
    width = f"{max(0.0, min(1.0, share)) * PERCENT:.2f}"
    filled = element("span", style=f"width:{width}%", class_=str(tone))
    return element("div", filled, class_="meter", role="img", aria_label=label)


def proportions(counts: Sequence[tuple[str, int, Tone]]) -> Html:
    """Return one bar that is divided by counts, with its legend."""
    shown = [one for one in counts if one[1]]
    total = sum(count for _, count, _ in shown)
    bars = (element("span", class_=str(tone), style=f"flex:{count} 1 0") for _, count, tone in shown)
    label = ", ".join(f"{count:,} {word}" for word, count, _ in shown)
    legend = (
        element("li", sign(tone), element("strong", f"{count:,}"), f" {word}", class_=str(tone))
        for word, count, tone in shown
    )
    bar = element("div", *bars, class_="proportions", role="img", aria_label=f"{total:,}: {label}")
    return join([bar, element("ul", *legend, class_="legend")])


def folded(summary: object, body: Html, *, is_open: bool = False, kind: str = "fold") -> Html:
    return element("details", element("summary", summary), body, open=is_open, class_=kind)


def long_text(value: str) -> Html:
    """Return a text with its lines as they are, in a box that scrolls."""
    return element("pre", multiline(value), tabindex=0)


def filters(name: str, choices: Sequence[tuple[str, str, int]]) -> tuple[Html, str]:
    """Return buttons that show the rows and parts with one `data-{name}` alone, and the style that makes them work.

    A choice is the value, which the pipeline names itself, the words for it, and how many there are.
    """
    made, rules = [_choice(name, "", "All", sum(count for _, _, count in choices), is_checked=True)], []
    for value, words, count in choices:
        made.append(_choice(name, value, words, count, is_checked=False))
        rules.append(
            f"body:has(#{name}-{value}:checked) [data-{name}]:not([data-{name}={value}]){{display:none!important}}"
        )
    legend = element("legend", "Show", class_="hidden")
    return element("fieldset", legend, *made, class_="filters"), "".join(rules)


def _choice(name: str, value: str, words: str, count: int, *, is_checked: bool) -> Html:
    own = f"{name}-{value or 'all'}"
    button = element("input", type="radio", name=name, id=own, checked=is_checked)
    return join([button, element("label", text(f"{words} "), element("b", f"{count:,}"), for_=own)])
