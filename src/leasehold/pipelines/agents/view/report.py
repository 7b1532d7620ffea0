"""The report of a session: one page with what happened, in which order, at what price, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from leasehold.pipelines.agents.child.files import write_durably
from leasehold.pipelines.agents.place import AgentsPlace
from leasehold.pipelines.agents.view.codes import explain_code
from leasehold.pipelines.agents.view.read import read_view
from leasehold.pipelines.agents.view.report_budgets import budget_cards
from leasehold.pipelines.agents.view.report_children import (
    STATUS_FILTER,
    anchor,
    child_cards,
    children_table,
    slug,
    took,
)
from leasehold.pipelines.agents.view.values import TROUBLE, ChildView, SessionView
from leasehold.pipelines.agents.view.words import (
    LANE_WORDS,
    SHOWN_FIRST,
    TONES,
    children_text,
    duration_text,
    headline,
    lane_words,
    seconds_between,
    utc_text,
)
from leasehold.pipelines.shell.html.markup import Html, code, element, join
from leasehold.pipelines.shell.html.page import Lead, PagePart, page
from leasehold.pipelines.shell.html.parts import filters, proportions, tiles
from leasehold.pipelines.shell.html.timeline import ROWS_MAX, TimelineSpan, time_line

REPORT: Final = "report.html"
ATTENTION_MAX: Final = 8
REASON_MAX: Final = 200
STYLE: Final = """
.lanes{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,15rem),1fr));gap:0 2.25rem}
.lane{display:grid;grid-row:span 4;grid-template-rows:subgrid;margin-bottom:1rem;align-content:start}
.lane h3{margin:0;font-size:1rem;color:var(--text)}.lane .total{margin:.1rem 0 .5rem;color:var(--muted)}
.lane .total strong{color:var(--text);font-size:1.25rem;font-variant-numeric:tabular-nums}.lane svg{margin-top:.9rem}
.attention{margin:1.2rem 0 0;padding:.3rem 1.1rem;list-style:none;border-left:3px solid var(--bad-fill);background:var(--card);border-radius:0 10px 10px 0;box-shadow:var(--shadow)}
.attention li{padding:.35rem 0;overflow-wrap:anywhere}.attention a{font-weight:600}.attention span{color:var(--muted)}
.codes dt{font-weight:600;overflow-wrap:anywhere}.codes dd{margin:.1rem 0 1rem;max-width:60rem}.codes dd:last-child{margin-bottom:0}
.cards{margin-top:1.5rem}
"""  # noqa: E501 — one rule a line


def write_report(place: AgentsPlace, parent_session_id: str, path: Path | None = None) -> Path:
    """Write the report of a session, in its own folder unless another file is named; return where it is."""
    target = (path or place.home(parent_session_id) / REPORT).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    content = report_page(read_view(place, parent_session_id, target)).encode("utf-8", "backslashreplace")
    write_durably(target, [content])
    return target


def report_page(view: SessionView) -> str:
    """Return the report as one HTML file."""
    sentence, tone = headline(view.counts)
    lead = Lead(sentence, tone, "Leasehold agents · session report", join([*_overview(view)]))
    choices = [(slug(one), one.value, view.counts[one]) for one in SHOWN_FIRST if view.counts[one]]
    buttons, rules = filters(STATUS_FILTER, choices)
    foot = f"Read from the records of session {view.session_id} on {utc_text(view.read_at)}."
    return page(view.session_id, [*_parts(view, buttons)], lead, foot=foot, style=STYLE + rules)


def _parts(view: SessionView, buttons: Html) -> Iterator[PagePart]:
    yield PagePart(
        "budgets", "Budgets", budget_cards(view), "A debit that would pass a limit is refused and not counted."
    )
    if view.children:
        yield PagePart("order", "Order of dispatches", _order(view), _order_note(view))
        cards = element("div", *child_cards(view), class_="cards")
        shown = buttons if len(view.counts) > 1 else None
        yield PagePart("children", "Children", join([shown, children_table(view), cards]))
    if codes := sorted({child.code for child in view.children if child.code}):
        explained = (join([element("dt", code(name)), element("dd", explain_code(name))]) for name in codes)
        yield PagePart("codes", "Codes", element("dl", *explained, class_="codes"))


def _overview(view: SessionView) -> Iterator[Html]:
    counts = [(one.value, view.counts[one], TONES[one]) for one in SHOWN_FIRST[::-1]]
    if view.children:
        yield proportions(counts)
    yield tiles(_figures(view))
    troubled = [child for child in view.dispatched() if child.status in TROUBLE]
    if troubled:
        yield element("ul", *_attention(troubled), class_="attention", aria_label="Look at these first")


def _figures(view: SessionView) -> Iterator[tuple[str, object, object]]:
    over = view.ended
    took_seconds = seconds_between(view.opened, over or view.read_at)
    yield "Took" if over else "So far", duration_text(took_seconds) or "–", utc_text(view.opened)
    cap = f"at most {view.max_active_children:,} at once"
    yield "Children", f"{len(view.children):,}", f"{cap}, {view.contract} contract"
    for lane in view.lanes:
        limit = "no limit" if lane.limit is None else f"of {lane.limit:,}, {lane.left:,} left"
        yield lane_words(lane.name), f"{lane.spent:,}", limit
    if not view.lanes:
        yield LANE_WORDS["tokens"], "0", "no budget"


def _attention(troubled: list[ChildView]) -> Iterator[Html]:
    for child in troubled[:ATTENTION_MAX]:
        reason = child.reason if len(child.reason) <= REASON_MAX else f"{child.reason[:REASON_MAX]} …"
        what = element("span", f" {child.status.value}: {reason}" if reason else f" {child.status.value}")
        yield element("li", element("a", child.name, href=f"#{anchor(child)}"), what)
    if len(troubled) > ATTENTION_MAX:
        yield element("li", element("span", f"and {len(troubled) - ATTENTION_MAX:,} more below"))


def _order_note(view: SessionView) -> str:
    if len(view.children) > ROWS_MAX:
        return f"{children_text(len(view.children))}, a row for each place that they took; names are in the table."
    return "In the order in which they were dispatched; the dotted line is the time in the queue."


def _order(view: SessionView) -> Html:
    begins = [child.times.queued for child in view.children if child.times.queued] or [view.opened or view.read_at]
    zero = min(begins)
    end = view.ended or view.read_at
    total = seconds_between(zero, end) or 0.0
    spans = []
    for child in view.dispatched():
        times = child.times
        start = seconds_between(zero, times.started or (None if child.dispatch_seq is None else times.leased))
        stop = seconds_between(zero, times.ended or end)
        waited = seconds_between(zero, times.queued)
        place = f"#{child.dispatch_seq}" if child.dispatch_seq else "not dispatched"
        words = f"{place} {child.name}: {child.status.value}, {took(child, view) or 'never ran'}"
        tone = TONES[child.status]
        spans.append(TimelineSpan(child.name, words, f"#{anchor(child)}", tone, waited or 0.0, start, stop or 0.0))
    return time_line(spans, total, f"{len(spans):,} dispatches in {duration_text(total)}")
