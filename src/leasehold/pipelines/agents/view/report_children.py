"""Children on the report: a row for each in the table, and a card with result, evidence and diff."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from leasehold.pipelines.agents.view.values import TROUBLE, ChildStatus, ChildView, LaneUse, SessionView, ShownFile
from leasehold.pipelines.agents.view.words import (
    TONES,
    duration_text,
    lane_words,
    seconds_between,
)
from leasehold.pipelines.shell.html.diff import patch_html, patch_summary, read_patch
from leasehold.pipelines.shell.html.markup import Html, code, element, join, local_link
from leasehold.pipelines.shell.html.parts import Columns, facts, folded, long_text, pill, table
from leasehold.pipelines.shell.text import size_text

STATUS_FILTER: Final = "status"
OPEN_ALL_MAX: Final = 3  # with so few children, all cards are open
OPEN_TROUBLE_MAX: Final = 5
RESULT_OPEN_MAX: Final = 4_000  # characters; a longer result is folded
RESULT_MAX: Final = 64_000


USES: Final = Columns(("Budget", "Spent", "Refused", "Left then"), "Budget", ("Spent", "Refused", "Left then"))


def slug(status: ChildStatus) -> str:
    return status.value.replace(" ", "-")


def anchor(child: ChildView) -> str:
    return f"child-{child.queue_seq}"


def took(child: ChildView, view: SessionView) -> str:
    start = child.times.started
    return duration_text(seconds_between(start, child.times.ended or view.read_at)) if start else ""


def children_table(view: SessionView) -> Html:
    lanes = [lane.name for lane in view.lanes]
    spends = [lane_words(lane) for lane in lanes]
    columns = Columns(["#", "Child", "Result", "Code", "Took", *spends, "Kept"], "Child", ["#", "Took", *spends])
    children = view.dispatched()
    rows = ([*_cells(child, view), *(f"{child.spent(lane):,}" for lane in lanes), _kept(child)] for child in children)
    return table(columns, rows, ({f"data_{STATUS_FILTER}": slug(child.status)} for child in children))


def _cells(child: ChildView, view: SessionView) -> list[object]:
    name = element("a", child.name, href=f"#{anchor(child)}")
    link = element("a", code(child.code), href="#codes") if child.code else ""
    return [child.dispatch_seq or "–", name, _pill(child), link, took(child, view)]


def _pill(child: ChildView) -> Html:
    return pill(child.status.value, TONES[child.status])


def _kept(child: ChildView) -> Html:
    words = []
    if printed := sum(file.size for file in child.evidence):
        words.append(size_text(printed))
    if child.diff is not None and child.diff.size:
        words.append(f"diff {size_text(child.diff.size)}")
    return element("small", " + ".join(words))


def child_cards(view: SessionView) -> Iterator[Html]:
    open_left = len(view.children) if len(view.children) <= OPEN_ALL_MAX else OPEN_TROUBLE_MAX
    for child in view.dispatched():
        is_worth = len(view.children) <= OPEN_ALL_MAX or child.status in TROUBLE
        is_open = is_worth and open_left > 0
        open_left -= is_open
        yield _card(child, view, is_open=is_open)


def _card(child: ChildView, view: SessionView, *, is_open: bool) -> Html:
    place = element("small", f"#{child.dispatch_seq}" if child.dispatch_seq else "–", class_="mono")
    rest = [took(child, view), *(_short_use(child, lane.name) for lane in view.lanes)]
    files = read_patch(child.diff.text) if child.diff is not None else []
    figures = [element("span", one) for one in (*rest, patch_summary(files) if files else "") if one]
    name = element("span", child.name, class_="name")
    summary = join([_pill(child), place, name, element("span", *figures, class_="rest")])
    body = element("div", *_inside(child, view), *_diff(child), id=anchor(child))
    shown = {f"data_{STATUS_FILTER}": slug(child.status)}
    return element("details", element("summary", summary), body, open=is_open, class_="card", **shown)


def _short_use(child: ChildView, lane: str) -> str:
    spent = child.spent(lane)
    words = {"tokens": "token", "solver_calls": "call"}.get(lane)
    return f"{spent:,} {words}{'' if spent == 1 else 's'}" if words and spent else ""


def _inside(child: ChildView, view: SessionView) -> Iterator[Html]:
    if child.reason or child.code:
        link = join([element("a", code(child.code), href="#codes"), " "]) if child.code else None
        yield element("p", link, child.reason, class_=f"reason {TONES[child.status]}")
    yield facts(_facts(child, view.opened))
    if child.use:
        rows = [_use_row(lane.name, child.use.get(lane.name, LaneUse())) for lane in view.lanes]
        yield element("h3", "Budgets")
        yield table(USES, rows)
    if child.has_output and child.status is ChildStatus.PASSED:  # of others it is no more than what they printed
        yield element("h3", "Result")
        yield _result(child.output)
    if child.evidence:
        yield element("h3", "Evidence")
        yield join(_file(file, is_open=child.status in TROUBLE) for file in child.evidence)


def _use_row(lane: str, use: LaneUse) -> list[str]:
    left = "" if use.left is None else f"{use.left:,}"
    return [lane_words(lane), f"{use.spent:,}", f"{use.refused:,}" if use.refused else "", left]


def _facts(child: ChildView, zero: datetime | None) -> Iterator[tuple[str, object]]:
    times = child.times
    yield "Child id", element("code", child.child_id)
    if child.command:
        yield "Command", element("code", " ".join(child.command))
    yield "Phase", child.phase
    moments = (("Queued", times.queued), ("Leased", times.leased), ("Started", times.started), ("Ended", times.ended))
    for name, moment in moments:
        if moment is not None:
            since = element("small", f" +{duration_text(seconds_between(zero, moment))}") if zero else None
            yield name, join([f"{moment:%H:%M:%S.%f}"[:-3], since])
    if child.cancel_request_id:
        yield "Cancelled by", element("code", child.cancel_request_id)
    if child.again_of:
        yield "Again", f"repeats {child.again_of}"
    if child.last_line:
        yield "Last line", child.last_line


def _result(output: Any) -> Html:
    shown = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, indent=2)
    cut = shown if len(shown) <= RESULT_MAX else f"{shown[:RESULT_MAX]}\n… {len(shown) - RESULT_MAX:,} more characters"
    if len(cut) <= RESULT_OPEN_MAX:
        return long_text(cut)
    return folded(f"{len(shown):,} characters", long_text(cut))


def _file(file: ShownFile, *, is_open: bool) -> Html:
    words = [size_text(file.size) if file.size else "empty"]
    if file.is_truncated:
        words.append("truncated: the child printed more than is kept")
    summary = join([element("code", file.name), " ", element("small", ", ".join(words))])
    if not file.text:
        return element("p", summary, " ", _link(file) if file.size else None, class_="file")
    more = f"… {size_text(file.omitted)} before this\n" if file.omitted else ""
    return folded(summary, join([long_text(more + file.text), element("p", _link(file))]), is_open=is_open)


def _link(file: ShownFile) -> Html | None:
    if not file.link:
        return None
    return join([
        element("a", f"Open {file.name}", href=local_link(file.link)), element("small", f" sha256 {file.sha256[:16]}…")
    ])  # fmt: skip


def _diff(child: ChildView) -> Iterator[Html]:
    if child.diff is None:
        return
    files = read_patch(child.diff.text)
    yield element("h3", "Diff ", element("small", patch_summary(files) if files else "nothing was changed"))
    if files:
        yield patch_html(files)
    if child.diff.omitted:
        yield element("p", f"{size_text(child.diff.omitted)} of the patch are not shown here.", class_="note")
    if (link := _link(child.diff)) is not None:
        yield element("p", link)
