"""How a run is told to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.export import notes_of
from leasehold.pipelines.translate.history import ParagraphHistory

if TYPE_CHECKING:
    from leasehold.pipelines.translate.api import Result

SHOWN_MAX: Final = 20
WIDTH: Final = 60
REASON_WIDTH: Final = 300


def help_with_examples(text: str, examples: list[str]) -> str:
    """Return the help of a verb: what it does, then how it looks."""
    return f"{text}\n\n\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)


def counted(counts: Mapping[str, int]) -> str:
    """Say counts by state: 210 approved, 3 rework_required."""
    return ", ".join(f"{count:,} {state}" for state, count in counts.items() if count) or "nothing"


def told_result(result: Result) -> Iterator[str]:
    """Yield the lines of a report at the end of a run."""
    planned = result.planned
    more = [(planned.new, "new"), (planned.revived, "tried again"), (planned.cancelled, "cancelled")]
    said = "".join(f", {count:,} {name}" for count, name in more if count)
    yield f"{planned.total:,} paragraphs{said or ', nothing new'}"
    yield from told_run(result.folder, result.histories)


def told_run(folder: Path, told: Sequence[ParagraphHistory]) -> Iterator[str]:
    """Yield how a run stands: a table of states, what failed, and what waits for a person."""
    counts = Counter(one.state for one in told)
    yield from (f"{counts[state]:>8,}  {state}" for state in states.STATES if counts[state])
    yield from _group("stand still", [(one, one.failure) for one in told if one.failure])
    rejected = [one for one in told if one.state == states.REJECTED and one.tries]
    yield from _group("rejected", [(one, notes_of(one.tries[-1])) for one in rejected])
    waiting = [one for one in told if one.state == states.REWORK_REQUIRED and not one.under_way]
    undecided = [one for one in waiting if one.tries]
    yield from _group("wait for a person", [(one, notes_of(one.tries[-1])) for one in undecided])
    if undecided:
        yield f"Decide with: leasehold translate approve {folder} {undecided[0].paragraph.index}   (or: reject)"


def _group(title: str, found: Sequence[tuple[ParagraphHistory, str]]) -> Iterator[str]:
    if not found:
        return
    yield ""
    yield f"{len(found):,} {title}:"
    for one, why in found[:SHOWN_MAX]:
        yield f"{one.paragraph.index:>8}  {shown(one.paragraph.source)}  [{shown(why, REASON_WIDTH)}]"
    if len(found) > SHOWN_MAX:
        yield f"          … and {len(found) - SHOWN_MAX:,} more; see the report"


def shown(text: str, width: int = WIDTH) -> str:
    """Return a text as one short line that does nothing to a terminal."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain if len(plain) <= width else f"{plain[: width - 1]}…"
