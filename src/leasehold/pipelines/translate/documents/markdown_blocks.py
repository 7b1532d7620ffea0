"""The blocks of Markdown: how they are read, where their texts stand, and how a translation is fitted into them.

markdown-it knows the rules (CommonMark with tables and strikethrough); footnotes are a block rule of our own, since a
footnote's text would otherwise be taken for code, or for the target of a link. Front matter is cut off before.
markdown-it gives the lines of a block and its text without the `>`, indents and bars around it. As a line of that text
is the end of the line in the file, its columns follow. Table cells are cut the way markdown-it cuts them.

A translation stays the text of its own paragraph, whatever it holds: a backslash before the character that would begin
a heading, list, table or code marks it as literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import accumulate, groupby, pairwise
from typing import Any, Final, assert_never

from markdown_it import MarkdownIt
from markdown_it.common.utils import MD_TRIM_CHARS
from markdown_it.rules_block import StateBlock, lheading, paragraph, table
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from leasehold.pipelines.translate.documents.document import NESTING_MAX, lines_of, one_line

FOOTNOTE_INDENT: Final = 4
ROW_BEGINS: Final = "row_begins"
TEXT_BEGINS: Final = "text_begins"
WHITE: Final = MD_TRIM_CHARS
BlockRule = Callable[[StateBlock, int, int, bool], bool]
_footnote: Final = re.compile(r"\[\^[^\]\s\[]+\]:")
_bar: Final = re.compile(r"(?<!\\)\|")
_closing: Final = re.compile(r"[ \t]+#+\Z")
# A backslash before a line's end is a hard break unless it is itself escaped.
_hard_break: Final = re.compile(r"(?P<break> {2,}|(?<!\\)(?:\\\\)*\\)\n")
# What begins a block if it begins a line, up to where the backslash goes.
_beginnings: Final = (
    re.compile(r"(?=#{1,6}(?:[ \t]|\Z))"),
    re.compile(r"(?=>)"),
    re.compile(r"(?=[-+*](?:[ \t]|\Z))"),
    re.compile(r"[0-9]{1,9}(?=[.)](?:[ \t]|\Z))"),
    re.compile(r"(?=([-_*])[ \t]*(?:\1[ \t]*){2,}\Z)"),
    re.compile(r"(?=\*\*[ \t]*\Z)"),  # behind a list's marker, a third one
    re.compile(r"(?=(?:-+|=+)[ \t]*\Z)"),
    re.compile(r"(?=[-:|][-:|\s]*\Z)"),
    re.compile(r"(?=`{3,}[^`]*\Z|~{3,})"),
)
_definition: Final = re.compile(r"\[(?:[^\[\]\\]|\\[\s\S])*\](?=:)")
_last_hashes: Final = re.compile(r"(?:(?<=[ \t])|\A)#+\Z")
_pipe: Final = re.compile(r"(?<!\\)\|")
_delimiters: Final = re.compile(r"[\s>]*[-:|][-:|\s]*\Z")


class MarkdownBlock(StrEnum):
    """The kind of block around a text, which decides what has to be escaped in it."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    UNDERLINED = "underlined"
    CELL = "cell"


@dataclass(frozen=True, slots=True)
class MarkdownSpan:
    """A text's place: characters [start, end) of the Markdown, beginning in line `line`, from 0."""

    start: int
    end: int
    line: int
    block: MarkdownBlock
    lines: tuple[str, ...]
    """The text's own lines, without what stands before them."""
    between: str | None = None
    """What ends its first line and begins its second, if it has two."""
    after_definition: bool = False
    above_delimiters: bool = False
    """Whether the line below is a table's delimiter row to markdown-it if there is a bar above it."""


@dataclass(frozen=True, slots=True)
class MarkdownLines:
    """The lines of a Markdown text, where each begins, and where it would begin if every line ended in LF."""

    lines: Sequence[str]
    offsets: Sequence[int]
    offsets_in_parser: Sequence[int]

    @classmethod
    def of(cls, text: str) -> MarkdownLines:
        lines = lines_of(text)
        parsed = accumulate(len(line.rstrip("\r\n")) + 1 for line in lines)
        return cls(lines, [0, *accumulate(map(len, lines))], [0, *parsed])


def parser(*, inline: bool = False) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"maxNesting": NESTING_MAX, "inline_definitions": True})
    made.enable(["table", "strikethrough"])
    made.block.ruler.before("reference", "footnote", _footnote_block, {"alt": ["paragraph", "reference"]})
    made.block.ruler.at("table", _table_block, {"alt": ["paragraph", "reference"]})
    made.block.ruler.at("lheading", partial(_text_block, lheading), {"alt": []})
    made.block.ruler.at("paragraph", partial(_text_block, paragraph), {"alt": []})
    made.core.ruler.after("normalize", "last_line", _end_last_line)
    if not inline:
        made.core.ruler.enableOnly(["normalize", "last_line", "block"])
    return made


def _end_last_line(state: StateCore) -> None:
    """End the last line too: markdown-it reads beyond a text that ends in an empty line of a quote (`>- <!--`, `>`)."""
    state.src += "" if state.src.endswith("\n") else "\n"


def front_matter(text: str) -> str:
    """Return what stands before the Markdown: metadata between two lines of dashes, or nothing."""
    if not text.startswith("---"):
        return ""
    lines = lines_of(text)
    ends = (count for count, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "..."))
    end = next(ends, 0) if lines[0].rstrip() == "---" else 0
    return "".join(lines[:end])


def parsed_spans(text: str) -> tuple[tuple[MarkdownSpan, ...], dict[str, Any]]:
    """Return where the texts stand (front matter is cut off before), and the link definitions by normalized label."""
    env: dict[str, Any] = {}
    return tuple(_spans(text, parser().parse(text, env))), env.get("references", {})


def _spans(text: str, tokens: Sequence[Token]) -> Iterator[MarkdownSpan]:
    page = MarkdownLines.of(text)
    defined = {token.map[1] for token in tokens if token.type == "definition" and token.map}
    texts = ((opened, token) for opened, token in pairwise(tokens) if token.type == "inline" and token.map)
    for row, group in groupby(texts, lambda pair: pair[1].meta.get(ROW_BEGINS)):
        if row is None:
            yield from (_block(page, opened, token, defined) for opened, token in group if token.content)
        else:
            yield from _cells(page, row, [token for _, token in group])


def _cells(page: MarkdownLines, row: int, tokens: Sequence[Token]) -> Iterator[MarkdownSpan]:
    line = _first_line(tokens[0])
    begin = row - page.offsets_in_parser[line]
    end = len(page.lines[line].rstrip(WHITE))
    edges = [begin - 1, *(bar.start() for bar in _bar.finditer(page.lines[line], begin, end)), end]
    spans = [(left + 1, right) for left, right in pairwise(edges)]
    if spans[0][0] == spans[0][1]:
        del spans[0]
    for (start, stop), token in zip(spans, tokens, strict=False):
        cell = page.lines[line][start:stop]
        text = cell.strip(WHITE)
        # `> a | b` above a line of dashes is a table to markdown-it, but its `>` also ends what stands before it.
        is_ambiguous = start == begin and begins_block(text)
        if token.content and not is_ambiguous:
            first = page.offsets[line] + start + len(cell) - len(cell.lstrip(WHITE))
            yield MarkdownSpan(first, first + len(text), line, MarkdownBlock.CELL, (text,))


def _block(page: MarkdownLines, opened: Token, token: Token, defined: set[int]) -> MarkdownSpan:
    bodies = [text.strip(WHITE) for text in token.content.split("\n")]
    first = token.meta.get(TEXT_BEGINS, _first_line(token))
    block = _kind(opened)
    raw = [page.lines[first + count].rstrip(WHITE) for count in range(len(bodies))]
    if block is MarkdownBlock.HEADING:
        raw[0] = _closing.sub("", page.lines[first].rstrip(" \t\r\n")).rstrip(WHITE)
    columns = [len(line) - len(body) for line, body in zip(raw, bodies, strict=True)]
    last = first + len(bodies) - 1
    own = [page.lines[first + count][column:] for count, column in enumerate(columns)]
    own[-1] = bodies[-1]
    between = None
    if len(bodies) > 1:
        ending = page.lines[first][len(page.lines[first].rstrip("\r\n")) :]
        between = ending + page.lines[first + 1][: columns[1]]
    start = page.offsets[first] + columns[0]
    below = page.lines[last + 1] if last + 1 < len(page.lines) else ""
    return MarkdownSpan(
        start,
        page.offsets[last] + len(raw[-1]),
        first,
        block,
        tuple(own),
        between,
        after_definition=_first_line(token) in defined,
        above_delimiters=_delimiters.match(below) is not None,
    )


def _kind(opened: Token) -> MarkdownBlock:
    if opened.type != "heading_open":
        return MarkdownBlock.PARAGRAPH
    return MarkdownBlock.HEADING if opened.markup.startswith("#") else MarkdownBlock.UNDERLINED


def _first_line(token: Token) -> int:
    assert token.map is not None
    return token.map[0]


def _table_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's form
    """Read a table, and record where its rows begin, which the text of a cell does not contain.

    A lazy line of a list item's paragraph begins no table. markdown-it takes one for a table's head if the next line is
    indented like the item, ends the item there, and then finds no table.
    """
    before = len(state.tokens)
    if state.sCount[start] < state.blkIndent or not table(state, start, end, silent):
        return False
    for token in state.tokens[before:]:
        if token.type == "inline" and token.map:
            row = token.map[0]
            token.meta[ROW_BEGINS] = state.bMarks[row] + state.tShift[row]
    return True


def _text_block(rule: BlockRule, state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001
    """Read a paragraph, and record where its text begins: not at a line of spaces that do not break."""
    before = len(state.tokens)
    if not rule(state, start, end, silent):
        return False
    for token in state.tokens[before:]:
        if token.type == "inline" and token.map:
            whole = state.getLines(start, token.map[1], state.blkIndent, False)  # noqa: FBT003 - markdown-it's form
            token.meta[TEXT_BEGINS] = start + whole[: len(whole) - len(whole.lstrip(WHITE))].count("\n")
    return True


def _footnote_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's form
    """Read `[^label]: text`, and whatever is indented below it, as a block of its own."""
    begin = state.bMarks[start] + state.tShift[start]
    found = _footnote.match(state.src, begin, state.eMarks[start])
    if not found or state.is_code_block(start):
        return False
    if not silent:
        _footnote_tokens(state, start, end, found)
    return True


def _footnote_tokens(state: StateBlock, start: int, end: int, found: re.Match[str]) -> None:
    opened = state.push("footnote_open", "aside", 1)
    opened.markup = found.group()
    before = state.bMarks[start], state.tShift[start], state.sCount[start], state.parentType
    text = state.skipSpaces(found.end())
    state.bMarks[start] = found.end()
    state.tShift[start] = text - found.end()
    state.blkIndent += FOOTNOTE_INDENT
    # As if the first line were indented like those below it.
    state.sCount[start] = state.blkIndent
    state.parentType = "footnote"
    state.md.block.tokenize(state, start, end)
    state.blkIndent -= FOOTNOTE_INDENT
    state.bMarks[start], state.tShift[start], state.sCount[start], state.parentType = before
    opened.map = [start, state.line]
    state.push("footnote_close", "aside", -1)


def fitted(text: str, place: MarkdownSpan) -> str:
    """Fit a translation into the block of its place."""
    safe = _fitted(text, place)
    # A bar above dashes makes a table, even behind `#`, `>` or `-`: markdown-it looks for tables before all else.
    has_table = place.above_delimiters and place.block is not MarkdownBlock.CELL
    return safe.replace("|", "&#124;") if has_table else safe


def _fitted(text: str, place: MarkdownSpan) -> str:
    match place.block:
        case MarkdownBlock.PARAGRAPH:
            return _paragraph(text, place.between, after_definition=place.after_definition)
        case MarkdownBlock.UNDERLINED:
            return _paragraph(text, place.between, after_definition=True)
        case MarkdownBlock.HEADING:  # a last # would be taken for a closing one
            return _last_hashes.sub(lambda found: f"\\{found.group()}", _one(text))
        case MarkdownBlock.CELL:
            safe = _escaped(_pipe.sub(r"\\|", _one(text)))
            return f"{safe} " if safe.endswith("\\") else safe
    assert_never(place.block)


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
    return f"\\{line}" if any(sequence.search(line) for sequence, _, _ in HTML_SEQUENCES) else _undefined(line)


def _undefined(text: str) -> str:
    """Keep `[label]: …` from being taken for the definition of a link or a footnote."""
    label = _definition.match(text)
    return f"{text[: label.end()]}\\{text[label.end() :]}" if label else text
