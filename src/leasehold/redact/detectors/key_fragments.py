"""The middle of a key that lost both its markers, as a hunk of a diff shows it: lines of base64, all of one width.

Wide lines are nearly always found to be random one by one; what is found here are the narrow ones and those that look
less random than the others. Three wide lines or four narrow ones, equal in width and margin, mixed and random when read
as one, are taken for a key. Digests and identifiers are hexadecimal or have dashes; words are not all of one width.
"""

import re
from collections.abc import Iterator
from typing import Final

from leasehold.redact.detectors.entropy import looks_random
from leasehold.redact.text.page import Page
from leasehold.redact.text.spans import Span

WIDE: Final = 40
LINES_OF: Final = {True: 3, False: 4}  # how many full lines it takes, by whether they are wide
SAMPLE_LINES: Final = 16
END: Final = r"=?=?(?:\\n)?[\"']?[ \t]{0,4}[,+\\]?[ \t]{0,4}(?:\r?\n|\Z)"
FIRST: Final = r"([-+>|]?[ \t]{0,40}[\"']?)([A-Za-z0-9+/]{12,}+)" + f"(?={END})"
FIRST_OF_TEXT: Final = re.compile(FIRST)
FIRST_BELOW: Final = re.compile(rf"\n{FIRST}")
BODY: Final = re.compile(r"[A-Za-z0-9+/]++")
LINE_END: Final = re.compile(END)
MARKER: Final = ("-----", "-----\r")


def find_fragments(page: Page) -> Iterator[Span]:
    """Yield the lines of each such block: the first becomes a placeholder, the others go blank."""
    text = page.text
    found = FIRST_OF_TEXT.match(text) or FIRST_BELOW.search(text)
    while found:
        lines = _lines(text, found)
        width = lines[0][1] - lines[0][0]
        full = [line for line in lines if line[1] - line[0] == width]
        done = full[-1][1]
        if len(full) >= LINES_OF[width >= WIDE] and _is_random(text, full):
            done = lines[-1][1]
            value = text[lines[0][0] : done]
            yield from (Span(*line, "private_key", value, blank=line != lines[0]) for line in lines)
        found = FIRST_BELOW.search(text, done)


def _lines(text: str, first: re.Match[str]) -> list[tuple[int, int]]:
    """Return the lines of one width from here on, and the shorter one that ends them."""
    start, end = first.span(2)
    if text.endswith(MARKER, 0, first.start()):  # of what is public: a certificate, a signature
        return [(start, end)]
    margin = first[1]
    line_end = LINE_END.match(text, end)
    if margin == "+" and line_end and not text.startswith("+", line_end.end()):
        start, margin = start - 1, ""  # no margin of a diff but the first character of the line
    lines = [(start, end)]
    for line in _following(text, end, margin):
        if line[1] - line[0] <= end - start:
            lines.append(line)
        if line[1] - line[0] != end - start:
            break
    return lines


def _following(text: str, position: int, margin: str) -> Iterator[tuple[int, int]]:
    while (line_end := LINE_END.match(text, position)) and text.startswith(margin, line_end.end()):
        body = BODY.match(text, line_end.end() + len(margin))
        if body is None or not LINE_END.match(text, body.end()):
            return
        yield body.span()
        position = body.end()


def _is_random(text: str, lines: list[tuple[int, int]]) -> bool:
    bodies = [text[start:end] for start, end in lines[:SAMPLE_LINES]]
    return len(set(bodies)) > 1 and looks_random("".join(bodies))
