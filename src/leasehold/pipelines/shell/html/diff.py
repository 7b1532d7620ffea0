"""A patch as `git diff` writes it, readable: a part for each file, with line numbers and colours, folded where long.

The patch may hold anything: a name of a file is a text, and a line that git would not write is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from leasehold.cli.text import count
from leasehold.pipelines.shell.html.markup import Html, element, join, visible_lines
from leasehold.pipelines.shell.html.parts import folded

OPEN_LINES_MAX: Final = 60  # a file with more changed lines is folded
FILE_LINES_MAX: Final = 600  # of one file; what follows is counted
LINE_MAX: Final = 500  # characters
HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
KINDS: Final = {"+": "added", "-": "removed", "@": "hunk", "\\": "remark"}
BINARY: Final = ("GIT binary patch", "Binary files ")
REMARKS: Final = (
    "new file",
    "deleted file",
    "rename from",
    "rename to",
    "old mode",
    "new mode",
    "copy from",
    "copy to",
)


@dataclass(slots=True)
class PatchedFile:
    """One file of a patch. `lines`: of its hunks, with their sign."""

    name: str
    lines: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    is_binary: bool = False

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for line in self.lines)


def read_patch(patch: str) -> list[PatchedFile]:
    """Return the files of a patch, in order."""
    found: list[PatchedFile] = []
    is_head = True
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            found.append(PatchedFile(_name(line)))
            is_head = True
        elif found:
            is_head = is_head and not line.startswith("@@ ")
            _take(found[-1], line, is_head=is_head)
    return found


def _name(line: str) -> str:
    """Return the name after the change; git writes `a/NAME b/NAME`, in quotes where a character is unusual."""
    names = line.removeprefix("diff --git ")
    half = len(names) // 2
    if names[2:half] == names[half + 3 :]:
        return names[2:half]
    return names


def _take(file: PatchedFile, line: str, *, is_head: bool) -> None:
    if file.is_binary:
        return
    if not is_head:
        file.lines.append(line)
    elif line.startswith(BINARY):
        file.is_binary = True
    elif line.startswith(REMARKS):
        file.remarks.append(line)


def patch_summary(files: Sequence[PatchedFile]) -> Html:
    """Return how much a patch changes: 3 files +12 −4."""
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    return join([f"{count(len(files), 'file')} ", _counts(added, removed)])


def patch_html(files: Sequence[PatchedFile]) -> Html:
    return element("div", *(_file(file) for file in files), class_="patch")


def _file(file: PatchedFile) -> Html:
    counts = element("span", _counts(file.added, file.removed), class_="counts")
    remarks = element("small", ", ".join(file.remarks)) if file.remarks else None
    if file.is_binary:
        return element("div", element("code", file.name), remarks, element("small", "binary"), class_="patched binary")
    shown = file.lines[:FILE_LINES_MAX]
    rows = [*_rows(shown)]
    if more := len(file.lines) - len(shown):
        rows.append(_row("remark", "", "", f"… {more:,} more lines in the patch file"))
    body = element("div", element("table", element("tbody", *rows)), class_="lines", tabindex=0)
    is_open = file.added + file.removed <= OPEN_LINES_MAX
    return folded(join([element("code", file.name), remarks, counts]), body, is_open=is_open, kind="patched")


def _counts(added: int, removed: int) -> Html:
    signed = ((f"+{added:,}", "added"), (f"−{removed:,}", "removed"))
    return join((element("span", number, class_=kind) for number, kind in signed), " ")


def _rows(lines: Iterable[str]) -> Iterator[Html]:
    """Yield the lines of hunks with their numbers before and after the change."""
    before = after = 0
    for line in lines:
        if hunk := HUNK.match(line):
            before, after = int(hunk[1]), int(hunk[2])
            yield _row("hunk", "", "", line)
            continue
        kind = KINDS.get(line[:1], "same")
        if kind == "remark" or not line:
            if line:
                yield _row(kind, "", "", line)
            continue
        yield _row(kind, "" if kind == "added" else before, "" if kind == "removed" else after, line)
        before += kind != "added"
        after += kind != "removed"


def _row(kind: str, before: object, after: object, line: str) -> Html:
    shown = next(visible_lines(line if len(line) <= LINE_MAX else f"{line[:LINE_MAX]} …"))
    cells = (element("td", number, class_="place") for number in (before, after))
    return element("tr", *cells, element("td", shown, class_="line"), class_=kind)
