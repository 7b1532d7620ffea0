"""Splits a change by file, so that each prompt fits into the context of a model.

Files stay in their order, and together as far as they fit. A file that does not fit alone is split between its hunks;
a hunk that does not fit alone is left out, and its file is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.limits import BYTES_PER_TOKEN
from leasehold.pipelines.review.prompts.redacted_change import RedactedFile
from leasehold.pipelines.review.prompts.render import file_block, render
from leasehold.pipelines.review.prompts.template import PromptTemplate
from leasehold.redact import Redactor, redact_guarded

HUNK_START: Final = re.compile(r"^(?=@@ -\d)", re.MULTILINE)
TokenCount = Callable[[str], int]


class ContextTooSmall(Misuse, code="REVIEW_CONTEXT_TOO_SMALL"):
    """The context has no room for the instructions of the prompt; use a model with a larger one."""


@dataclass(frozen=True, slots=True)
class SplitChange:
    """Groups of files, one for each prompt, and the paths of files of which something is left out."""

    groups: tuple[tuple[RedactedFile, ...], ...]
    cut_files: tuple[str, ...]


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def split_change(
    template: PromptTemplate,
    files: Sequence[RedactedFile],
    context_tokens: int,
    redactor: Redactor,
    count: TokenCount = estimated_tokens,
) -> SplitChange:
    """Split files into groups whose prompts have at most so many tokens each."""
    empty = render(template, (), redactor)
    room = context_tokens - count(empty.system.text) - count(empty.user.text)
    if room <= 0:
        raise ContextTooSmall(f"It has {context_tokens:,} tokens.")
    packing = _Packing(room, count)
    cut = []
    for file in files:
        parts = [file] if packing.size(file) <= room else list(_by_hunk(file, packing, redactor))
        for part in parts:
            if packing.size(part) > room:
                cut.append(file.path.text)
            else:
                packing.add(part)
    return SplitChange(packing.close(), tuple(dict.fromkeys(cut)))


@dataclass(slots=True)
class _Packing:
    """Fills one group after the other."""

    room: int
    count: TokenCount
    groups: list[tuple[RedactedFile, ...]] = field(default_factory=list)
    current: list[RedactedFile] = field(default_factory=list)
    used: int = 0

    def size(self, file: RedactedFile) -> int:
        """Return the tokens of a file in a prompt: its block, and its line among the changed files."""
        return self.count(file_block(file)) + self.count(f'"{file.path.text}"\n') + 1

    def add(self, file: RedactedFile) -> None:
        size = self.size(file)
        if self.used + size > self.room:
            self._close_group()
        self.current.append(file)
        self.used += size

    def close(self) -> tuple[tuple[RedactedFile, ...], ...]:
        self._close_group()
        return tuple(self.groups)

    def _close_group(self) -> None:
        if self.current:
            self.groups.append(tuple(self.current))
        self.current, self.used = [], 0


def _by_hunk(file: RedactedFile, packing: _Packing, redactor: Redactor) -> Iterator[RedactedFile]:
    """Yield parts of a file, each with as many hunks as fit; one with a hunk that does not fit alone is too large."""
    empty = packing.size(_part(file, "", redactor))
    gathered: list[str] = []
    used = empty
    for hunk in filter(None, HUNK_START.split(file.hunks.text)):
        size = packing.count(hunk)
        if gathered and used + size > packing.room:
            yield _part(file, "".join(gathered), redactor)
            gathered, used = [], empty
        gathered.append(hunk)
        used += size
    yield _part(file, "".join(gathered), redactor)


def _part(file: RedactedFile, hunks: str, redactor: Redactor) -> RedactedFile:
    return replace(file, hunks=redact_guarded(hunks, redactor))
