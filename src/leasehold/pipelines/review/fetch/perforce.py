"""Runs `p4`: argument by argument, with answers in JSON, a time-out and a cap on what it prints.

Settings come from the environment of this process alone: configuration files in folders, the registry file of
`p4 set` and user aliases, each of which could turn a command into another one, are disabled. Commands only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from msgspec import DecodeError

from leasehold.errors import Unavailable
from leasehold.pipelines.review.fetch.change import RevisionInvalid
from leasehold.pipelines.review.limits import COMMAND_SECONDS_MAX, LISTING_BYTES_MAX
from leasehold.pipelines.shell.programs import (
    Program,
    ProgramLimits,
    find_program,
    kept_environment,
    run_program,
    shown_reason,
)
from leasehold.shapes import Shape

OPTIONS: Final = ("-Mj", "-ztag")
KEPT: Final = ("HOME", "TMPDIR", "P4PORT", "P4USER", "P4CLIENT", "P4PASSWD", "P4TICKETS", "P4TRUST", "P4CHARSET")
FIXED: Final = {
    "LC_ALL": "C", "P4CONFIG": "", "P4ENVIRO": "/dev/null", "P4ALIASES": "/dev/null", "P4DIFF": "", "P4EDITOR": "false",
    "P4PAGER": "",
}  # fmt: skip
NUMBER: Final = re.compile(r"[1-9][0-9]{0,9}")
NUMBERED: Final = re.compile(r"depotFile[0-9]+")
TEXT_TYPES: Final = frozenset(
    ("text", "ctext", "cxtext", "ktext", "kxtext", "ltext", "xltext", "xtext", "symlink", "unicode", "xunicode", "utf8",
     "xutf8", "utf16", "xutf16")
)  # fmt: skip
FAILED: Final = 3  # the severity from which on a message is an error
ESCAPED_BYTES: Final = 6  # of one byte, as JSON writes it at worst
ANSWER_BYTES: Final = 64 * 1024  # around the content of a file


class PerforceFailed(Unavailable, code="REVIEW_PERFORCE_FAILED"):
    """p4 answered with an error, or not as it should."""


class PerforceAction(StrEnum):
    """What a changelist does with a file, as far as it matters here."""

    ADD = "add"
    EDIT = "edit"
    DELETE = "delete"


ACTIONS: Final = {
    "add": PerforceAction.ADD, "branch": PerforceAction.ADD, "move/add": PerforceAction.ADD,
    "import": PerforceAction.ADD, "edit": PerforceAction.EDIT, "integrate": PerforceAction.EDIT,
    "delete": PerforceAction.DELETE, "move/delete": PerforceAction.DELETE, "purge": PerforceAction.DELETE,
    "archive": PerforceAction.DELETE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DescribedFile:
    """One file of a changelist. `revision` is the one that it made; of a pending one, the one that it is based on."""

    path: str
    action: PerforceAction
    type: str
    revision: int
    size: int

    @property
    def is_text(self) -> bool:
        return self.type.partition("+")[0] in TEXT_TYPES


@dataclass(frozen=True, slots=True)
class Changelist:
    """A changelist and all of its files; of a pending one, those that `p4 shelve` has put on the server."""

    number: str
    description: str
    files: tuple[DescribedFile, ...]
    is_pending: bool


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """What p4 printed for one file: the path that it speaks of, and the text."""

    path: str
    text: str


Record = dict[str, Any]
_record: Final = Shape[Record](Record)


@dataclass(frozen=True, slots=True)
class Perforce:
    """A p4 client. `folder` is where it runs; nothing there is read."""

    program: Program
    folder: Path = Path("/")
    seconds: float = COMMAND_SECONDS_MAX

    def describe(self, number: str, *, pending: bool = False) -> Changelist:
        """Return a changelist with its files, without their contents."""
        if not NUMBER.fullmatch(number):
            raise RevisionInvalid(f"{number[:40]!r} is no number of a changelist.")
        more = ("-S",) if pending else ()
        records = [one for one in self._run(("describe", "-s", *more, number), LISTING_BYTES_MAX) if "change" in one]
        if len(records) != 1 or _text(records[0], "change") != number:
            raise PerforceFailed(f"describe did not answer with change {number}.")
        return Changelist(number, _text(records[0], "desc"), tuple(_files(records[0])), pending)

    def print_file(self, change: Changelist, file: DescribedFile, size_max: int) -> FileAnswer:
        """Return the content of a file as the change made it."""
        return self._file_answer(("print", _new(change, file)), size_max)

    def diff_file(self, change: Changelist, file: DescribedFile, size_max: int) -> FileAnswer:
        """Return how the change made a file different, as the hunks of a unified diff."""
        before = file.revision if change.is_pending else file.revision - 1
        return self._file_answer(("diff2", "-du", f"{file.path}#{before}", _new(change, file)), size_max)

    def _file_answer(self, arguments: tuple[str, ...], size_max: int) -> FileAnswer:
        records = list(self._run(arguments, ESCAPED_BYTES * size_max + ANSWER_BYTES))
        paths = {one[name] for one in records for name in ("depotFile", "depotFile2") if name in one}
        if len(paths) != 1:
            raise PerforceFailed(f"{arguments[0]} did not answer with one file.")
        text = "".join(_text(one, "data") for one in records if "depotFile" not in one and "data" in one)
        return FileAnswer(str(paths.pop()), text)

    def _run(self, arguments: tuple[str, ...], output_bytes: int) -> Iterator[Record]:
        printed = run_program(self.program, self.folder, arguments, ProgramLimits(self.seconds, output_bytes))
        for line in filter(None, printed.splitlines()):
            try:
                record = _record.decode(line.decode("utf-8", "replace"))
            except (DecodeError, RecursionError):
                raise PerforceFailed(f"{arguments[0]} did not answer with a line of JSON for each record.") from None
            severity = record.get("severity")
            if isinstance(severity, int) and severity >= FAILED:
                raise PerforceFailed(f"{arguments[0]}: {shown_reason(str(record.get('data')))}")
            yield record


def find_perforce(name: str = "p4") -> Perforce:
    """Return the p4 of this machine; `name` is found on PATH, or is an absolute path."""
    return Perforce(Program(find_program(name), kept_environment(KEPT, FIXED), OPTIONS))


def _new(change: Changelist, file: DescribedFile) -> str:
    return f"{file.path}@={change.number}" if change.is_pending else f"{file.path}#{file.revision}"


def _files(record: Record) -> Iterator[DescribedFile]:
    """Yield the files of a described change; their fields are numbered from 0 without a gap."""
    count = sum(NUMBERED.fullmatch(name) is not None for name in record)
    for number in range(count):
        action = _text(record, f"action{number}")
        if action not in ACTIONS:
            raise PerforceFailed(f"describe answered with the unknown action {shown_reason(action)!r}.")
        revision = _text(record, f"rev{number}")
        size = _text(record, f"fileSize{number}", "0")
        if not (revision == "none" or NUMBER.fullmatch(revision)) or not size.isascii() or not size.isdecimal():
            raise PerforceFailed("describe answered with a revision or a size that is no number.")
        at = 0 if revision == "none" else int(revision)
        path, type_ = _text(record, f"depotFile{number}"), _text(record, f"type{number}")
        yield DescribedFile(path, ACTIONS[action], type_, at, int(size))


def _text(record: Record, name: str, default: str | None = None) -> str:
    found = record.get(name, default)
    if not isinstance(found, str):
        raise PerforceFailed(f"an answer has no text as {name}.")
    return found
