"""A run as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leasehold.pipelines.shell.text import listed, one_line
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.export import notes_of
from leasehold.pipelines.translate.history import ParagraphHistory

if TYPE_CHECKING:
    from leasehold.pipelines.translate.api import Result

SOURCE_WIDTH: Final = 60
REASON_WIDTH: Final = 300


def result_lines(result: Result) -> Iterator[str]:
    planned = result.planned
    changes = [(planned.new, "new"), (planned.revived, "retried"), (planned.cancelled, "cancelled")]
    changed = "".join(f", {count:,} {name}" for count, name in changes if count)
    yield f"{planned.total:,} paragraphs{changed or ', nothing new'}"
    yield from status_lines(result.folder, result.histories)


def status_lines(folder: Path, histories: Sequence[ParagraphHistory]) -> Iterator[str]:
    """Yield the status of a run: counts by state, what failed, and what waits for a person."""
    counts = Counter(history.state for history in histories)
    yield from (f"{counts[state]:>8,}  {state}" for state in states.STATES if counts[state])
    yield from _group("failed", [(history, history.failure) for history in histories if history.failure])
    rejected = [history for history in histories if history.state == states.REJECTED and history.tries]
    yield from _group("rejected", [(history, notes_of(history.tries[-1])) for history in rejected])
    undecided = [history for history in histories if history.is_waiting]
    yield from _group("wait for a person", [(history, notes_of(history.tries[-1])) for history in undecided])
    if undecided:
        yield f"Decide with: leasehold translate approve {folder} {undecided[0].paragraph.index}   (or: reject)"


def _group(title: str, found: Sequence[tuple[ParagraphHistory, str]]) -> Iterator[str]:
    if found:
        lines = [
            f"{history.paragraph.index:>8}  {one_line(history.paragraph.source, SOURCE_WIDTH)}"
            f"  [{one_line(reason, REASON_WIDTH)}]"
            for history, reason in found
        ]
        yield from listed(f"{len(found):,} {title}:", lines, "see the report")
