"""Budgets on the report: a card for each lane with its curve, and who spent it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from leasehold.pipelines.agents.view.values import LaneView, SessionView
from leasehold.pipelines.agents.view.words import LANE_UNITS, duration_text, lane_sentence, lane_words, seconds_between
from leasehold.pipelines.shell.html.charts import StepCurve, step_curve
from leasehold.pipelines.shell.html.markup import Html, element
from leasehold.pipelines.shell.html.page import Tone
from leasehold.pipelines.shell.html.parts import meter, no_meter
from leasehold.pipelines.shell.text import count

NEARLY_ALL: Final = 0.8
DAY: Final = timedelta(days=1)  # further from its session, a debit has another clock


def budget_cards(view: SessionView) -> Html:
    if not view.lanes:
        return element("p", "This session has no budgets.")
    return element("div", *(_card(lane, view) for lane in view.lanes), class_="lanes")


def _card(lane: LaneView, view: SessionView) -> Html:
    of = "" if lane.limit is None else f" of {lane.limit:,}"
    total = element("p", element("strong", f"{lane.spent:,}"), f"{of} {_remark(lane)}", class_="total")
    return element("div", element("h3", lane_words(lane.name)), total, _filled(lane), _curve(lane, view), class_="lane")


def _remark(lane: LaneView) -> str:
    refusals = list(lane.refusals())
    refused = ""
    if refusals:
        amount = sum(debit.amount for debit in refusals)
        refused = f" · {count(len(refusals), 'debit')} refused ({count(amount, LANE_UNITS.get(lane.name, 'unit'))})"
    left = "spent, no limit" if lane.left is None else f"spent · {lane.left:,} left"
    return left + refused


def _filled(lane: LaneView) -> Html:
    if lane.limit is None:
        return no_meter()
    share = lane.spent / lane.limit if lane.limit else 1.0
    is_refused = any(True for _ in lane.refusals())
    tone = Tone.BAD if is_refused else Tone.WARN if share > NEARLY_ALL else Tone.BUSY
    return meter(share, tone, f"{lane_words(lane.name)}: {lane_sentence(lane)}")


def _curve(lane: LaneView, view: SessionView) -> Html:
    if not lane.debits:
        return element("p", "No debits.", class_="note")
    names = {child.child_id: child.name for child in view.children}
    zero, end = _period(lane, view)
    span = (end - zero).total_seconds()
    points, marks = [], []
    for debit in lane.debits:
        at = seconds_between(zero, debit.at) or 0.0
        points.append((at, float(debit.total)))
        if debit.is_refused:
            who = names.get(debit.child_id, debit.child_id)
            marks.append(
                (at, float(debit.total), f"{who}: {debit.amount:,} refused, {(lane.limit or 0) - debit.total:,} left")
            )
    label = f"{lane_words(lane.name)} over {duration_text(span)}: {lane_sentence(lane)}"
    limit = None if lane.limit is None else float(lane.limit)
    return step_curve(StepCurve(points, marks, span, limit, f"limit {lane.limit:,}" if lane.limit else "", label))


def _period(lane: LaneView, view: SessionView) -> tuple[datetime, datetime]:
    """Return what a curve covers: the session, or its debits if the session's times are given and not by the clock."""
    times = [debit.at for debit in lane.debits]
    first, last = min(times), max(times)
    zero, end = view.opened or first, view.ended or view.read_at
    return (zero, max(end, last)) if zero <= last and first <= max(end, zero + DAY) else (first, last)
