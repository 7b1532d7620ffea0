"""How Markdown is read: CommonMark with tables, strikethrough and footnotes, blocks only.

markdown-it knows the rules; footnotes are a block rule of our own, since a footnote's text would otherwise be taken
for code, or for the target of a link. Front matter is cut off before, as it is not Markdown.
"""

import re
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token

from leasehold.pipelines.translate.documents.document import lines_of
from leasehold.pipelines.translate.documents.limits import NESTING_MAX

FOOTNOTE_INDENT: Final = 4
ROW_BEGINS: Final = "row_begins"
_footnote: Final = re.compile(r"\[\^[^\]\s\[]+\]:")


def parser(*, inline: bool = False) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"maxNesting": NESTING_MAX, "inline_definitions": True})
    made.enable(["table", "strikethrough"])
    made.block.ruler.before("reference", "footnote", _footnote_block, {"alt": ["paragraph", "reference"]})
    made.block.ruler.at("table", _table_block, {"alt": ["paragraph", "reference"]})
    if not inline:
        made.core.ruler.enableOnly(["normalize", "block"])
    return made


def front_matter(text: str) -> str:
    """Return what stands before the Markdown: metadata between two lines of dashes, or nothing."""
    if not text.startswith("---"):
        return ""
    lines = lines_of(text)
    ends = (count for count, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "..."))
    end = next(ends, 0) if lines[0].rstrip() == "---" else 0
    return "".join(lines[:end])


def blocks(text: str) -> tuple[list[Token], dict[str, Any]]:
    """Return the tokens of a text without front matter, and its link definitions by normalized label."""
    env: dict[str, Any] = {}
    tokens = parser().parse(text, env)
    return tokens, env.get("references", {})


def _table_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's form
    """Read a table, and record where its rows begin, which the text of a cell does not contain."""
    before = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    for token in state.tokens[before:]:
        if token.type == "inline" and token.map:
            row = token.map[0]
            token.meta[ROW_BEGINS] = state.bMarks[row] + state.tShift[row]
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
