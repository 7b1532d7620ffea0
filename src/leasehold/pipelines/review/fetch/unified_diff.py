"""Unified diffs: reads whole ones from a file or a pipe, and makes hunks of whole texts.

Hunks are read by the numbers of lines that they announce, so a removed line `-- a/x`, which stands in a diff as
`--- a/x`, is never taken for the name of the next file. What is no part of a file, such as the message of a commit
that git has put before its diff, is skipped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.fetch.change import (
    Change,
    ChangeBuilder,
    FetchLimits,
    FileAction,
    LeftOutReason,
)

HUNK: Final = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
HUNK_LINE: Final = re.compile(r"^@@ -\d", re.MULTILINE)
NO_NEWLINE: Final = "\\ No newline at end of file\n"
NOWHERE: Final = "/dev/null"
GIT: Final = "diff --git "
QUOTED: Final = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
ESCAPE: Final = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)


class DiffInvalid(Misuse, code="REVIEW_DIFF_INVALID"):
    """The text is no unified diff of at least one file, or it is cut off."""


def hunks_only(text: str) -> str:
    """Return a diff of one file without the lines before its first hunk; empty if it has no hunk."""
    found = HUNK_LINE.search(text)
    return text[found.start() :] if found else ""


def added_hunk(content: str) -> str:
    """Return the hunk that makes a file of this content."""
    lines = content.split("\n")
    end = "" if content.endswith("\n") else "\n" + NO_NEWLINE
    lines = lines[:-1] if content.endswith("\n") else lines
    return f"@@ -0,0 +1,{len(lines)} @@\n" + "\n".join(f"+{line}" for line in lines) + (end or "\n") if content else ""


def fetch_diff(text: str, name: str = "diff", limits: FetchLimits | None = None) -> Change:
    """Read a plain diff: of git, of `diff -u`, or of any other tool that writes them."""
    builder = ChangeBuilder(limits or FetchLimits())
    if len(text) > builder.limits.change_bytes * 2:
        raise DiffInvalid(f"It has {len(text):,} characters; the limit is {builder.limits.change_bytes * 2:,}.")
    files = _Lines(text).files()
    if not files:
        raise DiffInvalid("No file is named in it.")
    builder.expect(len(files))
    for file in files:
        path, action = file.named()
        if file.is_submodule:
            builder.leave_out(path, LeftOutReason.SUBMODULE)
        elif file.is_binary:
            builder.leave_out(path, LeftOutReason.BINARY)
        else:
            builder.add(path, action, "".join(file.hunks))
    return builder.build(name)


@dataclass(slots=True)
class _DiffFile:
    """One file of a diff while it is read."""

    old: str = ""
    new: str = ""
    is_git: bool = False
    is_renamed: bool = False
    is_binary: bool = False
    is_submodule: bool = False
    hunks: list[str] = field(default_factory=list)

    def named(self) -> tuple[str, FileAction]:
        """Return the path of a file and what was done with it."""
        if self.new == NOWHERE:
            return _plain(self.old, "a/", is_git=self.is_git), FileAction.DELETED
        path = _plain(self.new, "b/", is_git=self.is_git and not self.is_renamed)
        if self.old == NOWHERE:
            return path, FileAction.ADDED
        return path, FileAction.RENAMED if self.is_renamed else FileAction.MODIFIED


def _plain(name: str, prefix: str, *, is_git: bool) -> str:
    path = name.removeprefix(prefix) if is_git or name.startswith(prefix) else name
    if not path:
        raise DiffInvalid("A file has no name.")
    return path


class _Lines:
    """Reads a diff line by line."""

    def __init__(self, text: str) -> None:
        # Only a line feed ends a line here: a carriage return before it belongs to the content.
        self._lines = (text if text.endswith("\n") else f"{text}\n").split("\n")
        self._at = 0
        self._files: list[_DiffFile] = []

    def files(self) -> list[_DiffFile]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("@@@"):
                raise DiffInvalid("It is a combined diff of a merge; compare with one parent.")
            if HUNK.match(line) and self._files and self._files[-1].new:
                self._read_hunk()
                continue
            self._read_head(line)
            self._at += 1
        return self._files

    def _read_head(self, line: str) -> None:
        line = line.removesuffix("\r")
        following = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        if line.startswith(GIT):
            self._files.append(_DiffFile(*_git_names(line.removeprefix(GIT)), is_git=True))
        elif line.startswith("--- ") and following.startswith("+++ "):
            self._read_names(line, following.removesuffix("\r"))
        elif self._files and self._files[-1].is_git and not self._files[-1].hunks:
            self._read_git_line(self._files[-1], line)

    def _read_names(self, old: str, new: str) -> None:
        if not self._files or not self._files[-1].is_git or self._files[-1].hunks:
            self._files.append(_DiffFile())
        file = self._files[-1]
        if not file.is_renamed:
            file.old, file.new = _name(old.removeprefix("--- ")), _name(new.removeprefix("+++ "))
        self._at += 1

    def _read_git_line(self, file: _DiffFile, line: str) -> None:
        if line.startswith("rename to "):
            file.new, file.is_renamed = _name(line.removeprefix("rename to ")), True
        elif line.startswith("new file mode"):
            file.old = NOWHERE
        elif line.startswith("deleted file mode"):
            file.new = NOWHERE
        file.is_binary |= line.startswith(("Binary files ", "GIT binary patch"))
        file.is_submodule |= line.endswith(" 160000")

    def _read_hunk(self) -> None:
        """Read as many lines as the hunk announces."""
        first = self._at
        found = HUNK.match(self._lines[first])
        assert found is not None
        old, new = (1 if count is None else int(count) for count in found.groups())
        self._at += 1
        while old > 0 or new > 0:
            line = self._lines[self._at] if self._at < len(self._lines) - 1 else None
            if line is None or (line and line[0] not in " +-\\\r"):
                raise DiffInvalid(f"The hunk in line {first + 1:,} is cut off.")
            mark = line[:1]
            old -= mark not in ("+", "\\")
            new -= mark not in ("-", "\\")
            self._at += 1
        if old < 0 or new < 0:
            raise DiffInvalid(f"The hunk in line {first + 1:,} has other lines than it announces.")
        if self._at < len(self._lines) and self._lines[self._at].startswith("\\"):
            self._at += 1
        self._files[-1].hunks.append("\n".join(self._lines[first : self._at]) + "\n")


def _git_names(names: str) -> tuple[str, str]:
    """Return both names of `diff --git a/x b/x`, which lines that follow may correct: a name may hold ` b/`."""
    if names.endswith('"'):
        return _quoted_names(names)
    half = len(names) // 2
    return _name(names[:half]), _name(names[half + 1 :])


def _quoted_names(names: str) -> tuple[str, str]:
    old, _, new = names.removesuffix('"').rpartition(' "')
    return _name(old), _name(f'"{new}"')


def _name(text: str) -> str:
    """Return the name that a line gives: unquoted, without the time that `diff -u` writes after a tab."""
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        return _unquoted(text[1:-1])
    return text.partition("\t")[0]


def _unquoted(text: str) -> str:
    """Return a name that git has quoted as C does, with bytes in octal."""
    parts = bytearray()
    at = 0
    for found in ESCAPE.finditer(text):
        parts += text[at : found.start()].encode("utf-8", "replace")
        code = found[1]
        parts += bytes([int(code, 8) & 255]) if len(code) > 1 else QUOTED.get(code, code).encode("utf-8", "replace")
        at = found.end()
    parts += text[at:].encode("utf-8", "replace")
    return parts.decode("utf-8", "replace")
