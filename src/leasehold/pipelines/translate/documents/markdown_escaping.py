"""A translation stays the text of its own paragraph, whatever it holds: no heading, list, table or code begins in it.

A backslash before the character that would begin a block is how Markdown itself marks it as literal.
"""

import re
from enum import StrEnum
from typing import Final, assert_never

from markdown_it.rules_block.html_block import HTML_SEQUENCES

from leasehold.pipelines.translate.documents.document import one_line

# A backslash before a line's end is a hard break unless it is itself escaped.
_hard_break: Final = re.compile(r"(?P<break> {2,}|(?<!\\)(?:\\\\)*\\)\n")
# What begins a block if it begins a line, up to where the backslash goes.
_beginnings: Final = (
    re.compile(r"(?=#{1,6}(?:[ \t]|\Z))"),
    re.compile(r"(?=>)"),
    re.compile(r"(?=[-+*](?:[ \t]|\Z))"),
    re.compile(r"[0-9]{1,9}(?=[.)](?:[ \t]|\Z))"),
    re.compile(r"(?=([-_*])[ \t]*(?:\1[ \t]*){2,}\Z)"),
    re.compile(r"(?=(?:-+|=+)[ \t]*\Z)"),
    re.compile(r"(?=[-:|][-:|\s]*\Z)"),
    re.compile(r"(?=`{3,}[^`]*\Z|~{3,})"),
)
_definition: Final = re.compile(r"\[(?:[^\[\]\\]|\\[\s\S])*\](?=:)")
_closing: Final = re.compile(r"(?:(?<=[ \t])|\A)#+\Z")
_pipe: Final = re.compile(r"(?<!\\)\|")


class MarkdownBlock(StrEnum):
    """The kind of block around a text, which decides what has to be escaped in it."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    UNDERLINED = "underlined"
    CELL = "cell"


def fitted(text: str, block: MarkdownBlock, between: str | None, *, after_definition: bool) -> str:
    """Fit a translation into its block. `between` divides the lines of a paragraph; None if it has only one."""
    match block:
        case MarkdownBlock.PARAGRAPH:
            return _paragraph(text, between, after_definition=after_definition)
        case MarkdownBlock.UNDERLINED:  # a bar above the line that makes it a heading would make it a table
            return _paragraph(text, between, after_definition=True).replace("|", "&#124;")
        case MarkdownBlock.HEADING:  # a last # would be taken for a closing one
            return _closing.sub(lambda found: f"\\{found.group()}", _one(text))
        case MarkdownBlock.CELL:
            safe = _escaped(_pipe.sub(r"\\|", _one(text)))
            return f"{safe} " if safe.endswith("\\") else safe
    assert_never(block)


def _paragraph(text: str, between: str | None, *, after_definition: bool) -> str:
    lines = [_escaped(line) for line in _lines(text, is_one=between is None)]
    whole = _undefined((between or "").join(lines))
    # The line above may end a link's definition, and this would be read as its title.
    return f"\\{whole}" if after_definition and whole.startswith(('"', "'", "(")) else whole


def broken_text(text: str) -> str:
    """Return a translation with the hard breaks that it will have in a paragraph: no two next to each other."""
    return "\n".join(_lines(text, is_one=False))


def begins_block(line: str) -> bool:
    """Return whether a line would begin a block if it stood by itself."""
    return _escaped(line) != line


def _lines(text: str, *, is_one: bool) -> list[str]:
    """Divide a text at its hard breaks, each of which stays at the end of its line. Empty lines go."""
    parts = _hard_break.split(text.strip())
    lines = [(_one(part), ending) for part, ending in zip(parts[::2], [*parts[1::2], ""], strict=True)]
    filled = [(line, ending) for line, ending in lines if line] or [("", "")]
    if is_one:
        return [" ".join(line for line, _ in filled)]
    return [*(line + ending for line, ending in filled[:-1]), filled[-1][0]]


def _one(text: str) -> str:
    return one_line(text).replace("\0", "\ufffd")


def _escaped(line: str) -> str:
    for beginning in _beginnings:
        if found := beginning.match(line):
            return f"{line[: found.end()]}\\{line[found.end() :]}"
    if any(sequence.search(line) for sequence, _, _ in HTML_SEQUENCES):
        return f"\\{line}"
    return _undefined(line)


def _undefined(text: str) -> str:
    """Keep `[label]: …` from being taken for the definition of a link or a footnote."""
    label = _definition.match(text)
    return f"{text[: label.end()]}\\{text[label.end() :]}" if label else text
