"""What happened, in words: sentences and figures that the board, the status and the report share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from leasehold.pipelines.agents.view.values import ChildStatus, LaneView
from leasehold.pipelines.shell.html.page import Tone
from leasehold.pipelines.shell.text import count

TONES: Final = {
    ChildStatus.WAITING: Tone.IDLE,
    ChildStatus.RUNNING: Tone.BUSY,
    ChildStatus.PASSED: Tone.GOOD,
    ChildStatus.FAILED: Tone.BAD,
    ChildStatus.LOST: Tone.BAD,
    ChildStatus.OVER_BUDGET: Tone.WARN,
    ChildStatus.CANCELLED: Tone.IDLE,
    ChildStatus.STOPPED: Tone.IDLE,
    ChildStatus.SKIPPED: Tone.IDLE,
}
# What a reader wants to know first comes first; the words follow a number: 1 was cancelled, 2 were cancelled.
CLAUSES: Final = {
    ChildStatus.FAILED: ("failed", "failed"),
    ChildStatus.LOST: ("was lost with its coordinator", "were lost with their coordinator"),
    ChildStatus.OVER_BUDGET: ("exceeded a budget", "exceeded a budget"),
    ChildStatus.CANCELLED: ("was cancelled", "were cancelled"),
    ChildStatus.STOPPED: ("was stopped with the session", "were stopped with the session"),
    ChildStatus.SKIPPED: ("was skipped", "were skipped"),
    ChildStatus.RUNNING: ("is running", "are running"),
    ChildStatus.WAITING: ("is waiting", "are waiting"),
}
SHOWN_FIRST: Final = (*CLAUSES, ChildStatus.PASSED)
LANE_WORDS: Final = {"tokens": "Tokens", "solver_calls": "Solver calls", "duration_secs": "Child seconds"}
LANE_UNITS: Final = {"tokens": "token", "solver_calls": "call", "duration_secs": "second"}
MINUTE: Final = 60
HOUR: Final = 60 * MINUTE


def headline(counts: Counter[ChildStatus]) -> tuple[str, Tone]:
    """Return what happened in one sentence, and how to colour it."""
    total = counts.total()
    if not total:
        return "The session has no children.", Tone.IDLE
    others = [f"{counts[one]:,} {words[counts[one] > 1]}" for one, words in CLAUSES.items() if counts[one]]
    if not others:
        return ("The only child passed." if total == 1 else f"All {total:,} children passed."), Tone.GOOD
    return f"{counts[ChildStatus.PASSED]:,} of {children_text(total)} passed; {', '.join(others)}.", _tone(counts)


def _tone(counts: Counter[ChildStatus]) -> Tone:
    if counts[ChildStatus.FAILED] or counts[ChildStatus.LOST]:
        return Tone.BAD
    return Tone.BUSY if counts[ChildStatus.RUNNING] or counts[ChildStatus.WAITING] else Tone.WARN


def children_text(number: int) -> str:
    return "1 child" if number == 1 else f"{number:,} children"


def lane_words(name: str) -> str:
    return LANE_WORDS.get(name, name)


def lane_sentence(lane: LaneView) -> str:
    """Return what became of a budget: 18,240 of 20,000 spent, 1,760 left, 2 debits refused."""
    spent = f"{lane.spent:,} spent" if lane.limit is None else f"{lane.spent:,} of {lane.limit:,} spent"
    left = "" if lane.left is None else f", {lane.left:,} left"
    refused = sum(1 for _ in lane.refusals())
    return f"{spent}{left}" + (f", {count(refused, 'debit')} refused" if refused else "")


def spent_words(spent: Mapping[str, int]) -> str:
    """Return what was spent: 235 tokens, 1 call, 2 seconds."""
    return ", ".join(count(spent[lane], unit) for lane, unit in LANE_UNITS.items() if spent.get(lane))


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else max(0.0, (end - start).total_seconds())


def duration_text(seconds: float | None) -> str:
    """Return a time that something took: 0.25 s, 14.2 s, 3 min 05 s, 2 h 10 min."""
    if seconds is None:
        return ""
    if seconds < MINUTE:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"  # noqa: PLR2004 — three figures
    whole = round(seconds)
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE:02} s"
    return f"{whole // HOUR:,} h {whole % HOUR // MINUTE:02} min"


def utc_text(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"
