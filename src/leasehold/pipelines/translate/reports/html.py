"""The report of a run as one page that needs nothing else: no scripts, no links to fetch, every value escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.export import chosen, notes_of
from leasehold.pipelines.translate.history import ParagraphHistory
from leasehold.pipelines.translate.paragraphs import Try
from leasehold.pipelines.translate.reviewers.review import ReviewFinding
from leasehold.pipelines.translate.settings import RunIdentity

STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:90rem;padding:0 1rem;color:#1c1c1c}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem}"
    "th,td{border-bottom:1px solid #ddd;padding:.2rem .7rem;text-align:left;vertical-align:top}"
    "section{border-top:1px solid #ccc;padding:.6rem 0}h2{font-size:1rem;margin:.2rem 0}"
    ".pair{display:grid;grid-template-columns:1fr 1fr;gap:1.5rem}.pair>div{white-space:pre-wrap;overflow-wrap:anywhere}"
    ".approved{color:#17643a}.rejected{color:#9b1c1c}.rework_required{color:#8a5a00}"
    "mark{background:#ffe08a}summary{cursor:pointer;color:#444}.critical,.major{color:#9b1c1c}"
    "@media(max-width:50rem){.pair{grid-template-columns:1fr}}"
)


def page_of(identity: RunIdentity, told: Sequence[ParagraphHistory]) -> str:
    """Return the page."""
    title = escape(f"{identity.document_id}: {identity.source_language} to {identity.target_language}")
    body = "".join(_section(one) for one in told)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n{_overview(identity, told)}{body}</body></html>\n"
    )


def _overview(identity: RunIdentity, told: Sequence[ParagraphHistory]) -> str:
    counts = Counter(one.state for one in told)
    rows = [("run", identity.run_id), ("paragraphs", f"{len(told):,}")]
    rows += [(state, f"{counts[state]:,}") for state in states.STATES if counts[state]]
    for name in ("tokens_in", "tokens_out"):
        if total := sum(getattr(tried, name) or 0 for one in told for tried in one.tries):
            rows.append((name.replace("_", " "), f"{total:,}"))
    links = " ".join(
        f'<a href="#p{one.paragraph.index}">{one.paragraph.index}</a>' for one in told if one.state != states.APPROVED
    )
    more = f"<p>Not approved: {links}</p>\n" if links else ""
    return _table(rows) + more


def _section(one: ParagraphHistory) -> str:
    index = one.paragraph.index
    candidate = chosen(one).candidate if one.tries else ""
    head = f'<h2 id="p{index}">{index} <span class="{escape(one.state)}">{escape(one.state)}</span></h2>'
    failure = f'<p class="critical">{escape(one.failure)}</p>' if one.failure else ""
    pair = f'<div class="pair"><div>{escape(one.paragraph.source)}</div><div>{escape(candidate)}</div></div>'
    return f"<section>{head}{failure}{pair}{''.join(_tried(tried) for tried in one.tries)}</section>\n"


def _tried(tried: Try) -> str:
    scores = ", ".join(f"{name} {score:.2f}" for name, score in tried.assessment.scores.items())
    said = " — ".join(part for part in (f"attempt {tried.attempt}, {tried.actor}", scores, notes_of(tried)) if part)
    found = [finding for review in tried.reviews for finding in review.findings]
    rows = "".join(_finding(tried.candidate, finding) for finding in found)
    table = f"<table>{rows}</table>" if rows else ""
    text = f'<div class="pair"><div></div><div>{_marked(tried.candidate, found)}</div></div>'
    return f"<details><summary>{escape(said)}</summary>{text}{table}</details>"


def _finding(candidate: str, finding: ReviewFinding) -> str:
    severity = escape(finding.severity)
    quote = ""
    if finding.start is not None and finding.length is not None:
        quote = candidate[finding.start : finding.start + finding.length]
    cells = (escape(finding.code), escape(finding.message), escape(quote))
    inner = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><td class="{severity}">{severity}</td>{inner}</tr>'


def _marked(candidate: str, findings: Iterable[ReviewFinding]) -> str:
    """Return a candidate with what was found wrong marked; where findings overlap they make one mark."""
    parts, at = [], 0
    for start, end in _spans(findings, len(candidate)):
        parts += [escape(candidate[at:start]), f"<mark>{escape(candidate[start:end])}</mark>"]
        at = end
    return "".join([*parts, escape(candidate[at:])])


def _spans(findings: Iterable[ReviewFinding], length: int) -> list[tuple[int, int]]:
    """Return where something was found, in order, with what overlaps joined."""
    found: list[tuple[int, int]] = []
    for start, size in sorted((one.start, one.length) for one in findings if one.start is not None and one.length):
        end = min(start + size, length)
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif start < end:
            found.append((start, end))
    return found


def _table(rows: Iterable[tuple[str, str]]) -> str:
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>\n" for name, value in rows)
    return f"<table>{body}</table>\n"
