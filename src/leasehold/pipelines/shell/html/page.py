"""The frame of a report page: head, heading, contents, parts, foot. The page may not run or fetch anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from leasehold.pipelines.shell.html.markup import Html, element, join
from leasehold.pipelines.shell.html.style import style_sheet

# Even if something was not escaped, a browser neither runs nor fetches it.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class Tone(StrEnum):
    """What a colour means; each also has a word or a sign, so that nobody depends on the colour."""

    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    BUSY = "busy"
    IDLE = "idle"


SIGNS: Final = {Tone.GOOD: "✓", Tone.BAD: "✕", Tone.WARN: "!", Tone.BUSY: "▸", Tone.IDLE: "·"}


@dataclass(frozen=True, slots=True)
class Lead:
    """What happened, in one sentence, and under it what belongs to the heading. `over`: small, above the title."""

    sentence: str = ""
    tone: Tone = Tone.IDLE
    over: str = ""
    below: Html | None = None


@dataclass(frozen=True, slots=True)
class PagePart:
    """A part of a page; `name` is its anchor. The contents are shown if there is more than one part."""

    name: str
    title: str
    body: Html
    note: str = ""


def page(title: str, parts: Sequence[PagePart], lead: Lead | None = None, *, foot: str = "", style: str = "") -> str:
    """Return a whole page."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width,initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("title", title),
        element("style", Html(f"{style_sheet()}{style}")),
    )
    main = element("main", *(_part(part) for part in parts))
    below = element("footer", foot) if foot else None
    body = element("body", _header(title, lead or Lead()), _contents(parts), main, below)
    return f'<!doctype html>\n<html lang="en">{head}\n{body}</html>\n'


def sign(tone: Tone) -> Html:
    return element("i", SIGNS[tone], class_=f"sign {tone}", aria_hidden="true")


def _header(title: str, lead: Lead) -> Html:
    over = element("p", lead.over, class_="over") if lead.over else None
    sentence = element("p", sign(lead.tone), lead.sentence, class_="lead") if lead.sentence else None
    return element("header", over, element("h1", title), sentence, lead.below)


def _contents(parts: Sequence[PagePart]) -> Html | None:
    if len(parts) <= 1:
        return None
    links = join(element("a", part.title, href=f"#{part.name}") for part in parts)
    return element("nav", links, aria_label="Contents")


def _part(part: PagePart) -> Html:
    note = element("p", part.note, class_="note") if part.note else None
    heading = element("h2", part.title, id=f"{part.name}-title")
    return element("section", heading, note, part.body, id=part.name, aria_labelledby=f"{part.name}-title")
