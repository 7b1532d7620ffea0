"""What people read of a run: its status as text, and an HTML page of every paragraph with its candidates."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from leasehold.pipelines.shell.html.markup import Html, element, join
from leasehold.pipelines.shell.html.page import Lead, PagePart, Tone, page
from leasehold.pipelines.shell.html.parts import facts
from leasehold.pipelines.shell.text import count, listed, one_line
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.export import chosen, notes_of
from leasehold.pipelines.translate.history import ParagraphHistory
from leasehold.pipelines.translate.paragraphs import Try
from leasehold.pipelines.translate.planning import PlanCounts
from leasehold.pipelines.translate.reviewers.review import ReviewFinding
from leasehold.pipelines.translate.settings import RunIdentity

SOURCE_WIDTH: Final = 60
REASON_WIDTH: Final = 300
STYLE: Final = """
.paragraph{border-top:1px solid var(--line);padding:.8rem 0}.paragraph h3{font-size:1rem;margin:.2rem 0 .4rem}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:1.5rem}.pair>div{white-space:pre-wrap;overflow-wrap:anywhere}
summary{cursor:pointer;color:var(--muted);overflow-wrap:anywhere}
@media(max-width:50rem){.pair{grid-template-columns:1fr;gap:.5rem}.pair>div:empty{display:none}}
"""
CLASSES: Final = {
    states.APPROVED: "good",
    states.REJECTED: "bad",
    states.REWORK_REQUIRED: "warn",
    "critical": "bad",
    "major": "bad",
}


def result_lines(planned: PlanCounts, folder: Path, histories: Sequence[ParagraphHistory]) -> Iterator[str]:
    changes = [(planned.new, "new"), (planned.revived, "retried"), (planned.cancelled, "cancelled")]
    changed = "".join(f", {count:,} {name}" for count, name in changes if count)
    yield f"{planned.total:,} paragraphs{changed or ', nothing new'}"
    yield from status_lines(folder, histories)


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


def report_page(identity: RunIdentity, histories: Sequence[ParagraphHistory]) -> str:
    title = f"{identity.document_id}: {identity.source_language} to {identity.target_language}"
    body = Html("".join(_section(history) for history in histories))
    parts = [
        PagePart("overview", "Overview", _overview(identity, histories)),
        PagePart("paragraphs", "Paragraphs", body),
    ]
    return page(title, parts, _lead(histories), style=STYLE)


def _lead(histories: Sequence[ParagraphHistory]) -> Lead:
    """Return how many paragraphs are approved, and how many are not."""
    counts = Counter(history.state for history in histories)
    others = (f"{counts[state]:,} {state}" for state in states.STATES if counts[state] and state != states.APPROVED)
    text = f"{counts[states.APPROVED]:,} of {count(len(histories), 'paragraph')} approved"
    tone = Tone.GOOD if counts[states.APPROVED] == len(histories) else Tone.WARN
    return Lead(f"{', '.join([text, *others])}.", tone)


def _overview(identity: RunIdentity, histories: Sequence[ParagraphHistory]) -> Html:
    counts = Counter(history.state for history in histories)
    rows = [("run", identity.run_id), ("paragraphs", f"{len(histories):,}")]
    rows += [(state, f"{counts[state]:,}") for state in states.STATES if counts[state]]
    for name in ("tokens_in", "tokens_out"):
        if total := sum(getattr(tried, name) or 0 for history in histories for tried in history.tries):
            rows.append((name.replace("_", " "), f"{total:,}"))
    weak = [history.paragraph.index for history in histories if history.state != states.APPROVED]
    links = join((element("a", index, href=f"#p{index}") for index in weak), " ")
    return join([facts(rows), element("p", "Not approved: ", links) if weak else None])


def _section(history: ParagraphHistory) -> str:
    index = history.paragraph.index
    candidate = chosen(history).candidate if history.tries else ""
    state = f'<span class="{CLASSES.get(history.state, "")}">{escape(history.state)}</span>'
    head = f'<h3 id="p{index}">{index} {state}</h3>'
    failure = f'<p class="bad">{escape(history.failure)}</p>' if history.failure else ""
    pair = f'<div class="pair"><div>{escape(history.paragraph.source)}</div><div>{escape(candidate)}</div></div>'
    tries = "".join(_tried(tried) for tried in history.tries)
    return f'<div class="paragraph">{head}{failure}{pair}{tries}</div>\n'


def _tried(tried: Try) -> str:
    scores = ", ".join(f"{name} {score:.2f}" for name, score in tried.assessment.scores.items())
    facts_of = (f"attempt {tried.attempt}, {tried.actor}", scores, notes_of(tried))
    summary = " — ".join(part for part in facts_of if part)
    found = [finding for review in tried.reviews for finding in review.findings]
    rows = "".join(_finding(tried.candidate, finding) for finding in found)
    table = f'<div class="scroll"><table>{rows}</table></div>' if rows else ""
    text = f'<div class="pair"><div></div><div>{_highlighted(tried.candidate, found)}</div></div>'
    return f"<details><summary>{escape(summary)}</summary>{text}{table}</details>"


def _finding(candidate: str, finding: ReviewFinding) -> str:
    quote = ""
    if finding.start is not None and finding.length is not None:
        quote = candidate[finding.start : finding.start + finding.length]
    inner = "".join(f"<td>{escape(text)}</td>" for text in (finding.code, finding.message, quote))
    return f'<tr><td class="{CLASSES.get(finding.severity, "")}">{escape(finding.severity)}</td>{inner}</tr>'


def _highlighted(candidate: str, findings: Iterable[ReviewFinding]) -> str:
    parts, at = [], 0
    for start, end in _spans(findings, len(candidate)):
        parts += [escape(candidate[at:start]), f"<mark>{escape(candidate[start:end])}</mark>"]
        at = end
    return "".join([*parts, escape(candidate[at:])])


def _spans(findings: Iterable[ReviewFinding], length: int) -> list[tuple[int, int]]:
    """Return the spans of findings in order, overlapping ones joined."""
    found: list[tuple[int, int]] = []
    placed = [(finding.start, finding.length) for finding in findings if finding.start is not None and finding.length]
    for start, size in sorted(placed):
        end = min(start + size, length)
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif start < end:
            found.append((start, end))
    return found
