"""Where something to hide stands in a text, and how findings that overlap become one."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Span(NamedTuple):
    """One finding. `value` is what it is an occurrence of, if not of its own text; `blank` leaves no placeholder."""

    start: int
    end: int
    name: str
    value: str = ""
    blank: bool = False


def merged(text: str, spans: Iterable[Span], holes: list[tuple[int, int]], rank: Mapping[str, int]) -> list[Span]:
    """Return disjoint spans in order, none of them inside a hole (a placeholder that is there already).

    What overlaps is hidden as one, so nothing found by one pattern survives because another found less.
    A span that reaches out of a hole swallows it.
    """
    joined: list[Span] = []
    for span in sorted(_outside(text, spans, holes)):
        if joined and span.start < joined[-1].end:
            joined[-1] = _union(joined[-1], span, rank)
        else:
            joined.append(span)
    return joined


def whole_lines(text: str, spans: Iterable[Span]) -> list[Span]:
    lines: dict[int, Span] = {}
    for span in spans:
        position = text.rfind("\n", 0, span.start) + 1
        while position < span.end:
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            stop = end - text.endswith("\r", position, end)
            if stop > position:
                lines[position] = Span(position, stop, "line")
            position = end + 1
    return [lines[start] for start in sorted(lines)]


def _outside(text: str, spans: Iterable[Span], holes: list[tuple[int, int]]) -> Iterable[Span]:
    """Yield spans without line ends at their edges, widened over the holes they touch; drop those inside one."""
    at = 0
    for span in sorted(_trimmed(text, spans)):
        while at < len(holes) and holes[at][1] <= span.start:
            at += 1
        start, end, inside = span.start, span.end, False
        reached = at
        while reached < len(holes) and holes[reached][0] < end:
            inside = inside or (holes[reached][0] <= start and end <= holes[reached][1])
            start, end = min(start, holes[reached][0]), max(end, holes[reached][1])
            reached += 1
        if not inside:
            yield span if (start, end) == (span.start, span.end) else Span(start, end, span.name, "", span.blank)


def _trimmed(text: str, spans: Iterable[Span]) -> Iterable[Span]:
    for span in spans:
        start, end = span.start, span.end
        while start < end and text[start] in "\r\n":
            start += 1
        while start < end and text[end - 1] in "\r\n":
            end -= 1
        if start < end:
            yield span if (start, end) == (span.start, span.end) else span._replace(start=start, end=end)


def _union(first: Span, second: Span, rank: Mapping[str, int]) -> Span:
    end = max(first.end, second.end)
    best = min(first, second, key=lambda span: rank[span.name])
    if (best.start, best.end) == (first.start, end):
        return best
    return Span(first.start, end, best.name, "", best.blank)
