"""Fetches a change from a git repository without running anything that the repository brings.

Revisions are resolved in the repository itself, by a command that only reads names. Everything else runs in an empty
repository that borrows its objects, so configuration, attributes, hooks, filters, drivers and diff settings of the
repository are never read. Nothing is fetched from anywhere: every transport is disabled.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.fetch.change import (
    Change,
    ChangeBuilder,
    FetchLimits,
    FileAction,
    LeftOutReason,
    RevisionInvalid,
    is_generated,
)
from leasehold.pipelines.review.fetch.unified_diff import hunks_only
from leasehold.pipelines.review.limits import COMMAND_SECONDS_MAX, LISTING_BYTES_MAX, RENAMES_MAX
from leasehold.pipelines.shell.git import NO_PROGRAMS, git_program
from leasehold.pipelines.shell.programs import (
    Program,
    ProgramFailed,
    ProgramLimits,
    ProgramOutputTooLarge,
    run_program,
)

# HOME is not kept: its configuration is not read either.
KEPT: Final = ("PATH", "TMPDIR")
FIXED: Final = {
    "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1",
    "HOME": "/nonexistent",
}  # fmt: skip
# A revision as people write one. It never begins with a dash, so it cannot be an option.
REVISION: Final = re.compile(r"[A-Za-z0-9_@][A-Za-z0-9_@{}^~./+-]{0,250}")
RANGE: Final = re.compile(r"(.+?)(\.\.\.?)(.+)")
RAW: Final = re.compile(rb":([0-7]{6}) ([0-7]{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])[0-9]*")
SUBMODULE: Final = b"160000"
EMPTY_TREES: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
ACTIONS: Final = {
    b"A": FileAction.ADDED, b"C": FileAction.ADDED, b"M": FileAction.MODIFIED, b"T": FileAction.MODIFIED,
    b"D": FileAction.DELETED, b"R": FileAction.RENAMED,
}  # fmt: skip
HEAD_BYTES: Final = 16 * 1024  # of the lines before the hunks of one file


class RepositoryUnreadable(Misuse, code="REVIEW_REPOSITORY_UNREADABLE"):
    """The folder is in no git repository that this user may read."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """One changed file as git lists it: paths as bytes, and the objects before and after."""

    action: FileAction
    old: bytes
    new: bytes
    objects: tuple[bytes, bytes]
    is_submodule: bool


def fetch_git(folder: Path, revisions: str, limits: FetchLimits | None = None) -> Change:
    """Fetch what `BASE..HEAD`, `BASE...HEAD` or one commit changes."""
    builder = ChangeBuilder(limits or FetchLimits())
    ends = _split(revisions)
    with tempfile.TemporaryDirectory(prefix="leasehold-review-") as scratch:
        resolver = _Resolver(folder)
        reader = _Reader(resolver, Path(scratch))
        base, head = resolver.resolve(*ends, reader)
        listed = list(reader.list_files(base, head))
        builder.expect(len(listed))
        huge = reader.oversized(listed, builder.limits.file_bytes)
        for file in listed:
            _add(builder, reader, file, (base, head), is_huge=not huge.isdisjoint(file.objects))
        return builder.build(revisions, reader.messages(base, head))


def _split(revisions: str) -> tuple[str, str, str]:
    """Return base, dots and head; a single commit has no base and no dots."""
    found = RANGE.fullmatch(revisions)
    base, dots, head = (found[1], found[2], found[3]) if found else ("", "", revisions)
    for one in filter(None, (base, head)):
        if not REVISION.fullmatch(one) or ".." in one:
            raise RevisionInvalid(f"{revisions[:200]!r} is none.")
    return base, dots, head


def _add(builder: ChangeBuilder, reader: _Reader, file: _Listed, ends: tuple[str, str], *, is_huge: bool) -> None:
    """Add one file to the change, or name it among those left out."""
    path, is_readable = _path(file.new)
    if not is_readable:
        builder.leave_out(path, LeftOutReason.UNREADABLE_PATH)
    elif file.is_submodule:
        builder.leave_out(path, LeftOutReason.SUBMODULE)
    elif is_generated(path):
        builder.leave_out(path, LeftOutReason.GENERATED)
    elif is_huge:
        builder.leave_out(path, LeftOutReason.HUGE)
    elif isinstance(hunks := reader.hunks(file, *ends, builder.limits.file_bytes), LeftOutReason):
        builder.leave_out(path, hunks)
    else:
        builder.add(path, file.action, hunks)


def _path(name: bytes) -> tuple[str, bool]:
    """Return a path, and whether it is one that a reviewer can name."""
    text = name.decode("utf-8", "backslashreplace")
    return text, text.isprintable() and text.encode("utf-8") == name


class _Resolver:
    """Resolves names in the repository itself."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = git_program(FIXED, KEPT)
        try:
            self.objects = self._ask("rev-parse", "--path-format=absolute", "--git-path", "objects")
            self.format = self._ask("rev-parse", "--show-object-format")
        except ProgramFailed as error:
            raise RepositoryUnreadable(f"{folder}: {error.detail}") from None

    def resolve(self, base: str, dots: str, head: str, reader: _Reader) -> tuple[str, str]:
        """Return the objects that are compared: of three dots, the head with where it left the base."""
        new = self._commit(head)
        if not dots:
            return reader.first_parent(new) or EMPTY_TREES[self.format], new
        old = self._commit(base)
        return (reader.merge_base(old, new) if len(dots) > len("..") else old), new

    def _commit(self, revision: str) -> str:
        try:
            return self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except ProgramFailed:
            raise RevisionInvalid(f"{revision!r} is no commit of {self._folder}.") from None

    def _ask(self, *arguments: str) -> str:
        printed = run_program(self._program, self._folder, arguments, ProgramLimits(COMMAND_SECONDS_MAX, HEAD_BYTES))
        return printed.decode("utf-8", "surrogateescape").removesuffix("\n")


class _Reader:
    """Reads objects through an empty repository of its own."""

    def __init__(self, resolver: _Resolver, scratch: Path) -> None:
        self._scratch = scratch
        self._program = git_program(FIXED, KEPT)
        self._run("init", "--quiet", "--bare", "--template=", f"--object-format={resolver.format}", ".")
        borrowed = {"GIT_DIR": str(scratch), "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(resolver.objects)}
        self._program = git_program({**FIXED, **borrowed}, KEPT)

    def first_parent(self, commit: str) -> str:
        return self._line("rev-list", "--max-count=1", "--parents", commit).partition(" ")[2].partition(" ")[0]

    def merge_base(self, old: str, new: str) -> str:
        try:
            return self._line("merge-base", old, new)
        except ProgramFailed:
            raise RevisionInvalid("The two revisions have no commit in common.") from None

    def messages(self, base: str, head: str) -> str:
        """Return the messages of the commits, the newest first."""
        try:
            printed = self._run("log", "--format=%B", "--no-show-signature", "--max-count=50", f"^{base}", head)
        except ProgramFailed:  # the base is the empty tree
            printed = self._run("log", "--format=%B", "--no-show-signature", "--max-count=1", head)
        return printed.decode("utf-8", "replace").strip()

    def list_files(self, base: str, head: str) -> Iterator[_Listed]:
        """Yield the changed files."""
        options = ("-r", "-z", "--raw", "--no-abbrev", "--find-renames", f"-l{RENAMES_MAX}", *NO_PROGRAMS)
        parts = iter(self._run("diff-tree", *options, base, head).split(b"\0")[:-1])
        for part in parts:
            found = RAW.fullmatch(part)
            assert found is not None, "git lists changed files as it documents"
            action = ACTIONS[found[5]]
            old = next(parts)
            new = next(parts) if found[5] in b"RC" else old
            yield _Listed(action, old, new, (found[3], found[4]), SUBMODULE in (found[1], found[2]))

    def oversized(self, listed: list[_Listed], size_max: int) -> set[bytes]:
        """Return the objects that are larger than a file may be."""
        asked = {one for file in listed if not file.is_submodule for one in file.objects if one.strip(b"0")}
        stdin = b"".join(one + b"\n" for one in sorted(asked))
        printed = self._run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=stdin)
        sizes = dict(line.split() for line in printed.splitlines())
        if b"missing" in sizes.values():
            raise RepositoryUnreadable("It is a partial clone without the files of this change; fetch them first.")
        return {name for name, size in sizes.items() if int(size) > size_max}

    def hunks(self, file: _Listed, base: str, head: str, size_max: int) -> str | LeftOutReason:
        """Return how one file differs, or why it is left out."""
        paths = dict.fromkeys((file.old, file.new))
        arguments = ("-r", "-p", "--find-renames", *NO_PROGRAMS, base, head, "--")
        names = [name.decode("utf-8", "surrogateescape") for name in paths]
        try:
            printed = self._run("diff-tree", *arguments, *names, output_bytes=size_max + HEAD_BYTES)
        except ProgramOutputTooLarge:
            return LeftOutReason.HUGE
        text = printed.decode("utf-8", "replace")
        hunks = hunks_only(text)
        return LeftOutReason.BINARY if not hunks and "\nBinary files " in text else hunks

    def _line(self, *arguments: str) -> str:
        return self._run(*arguments).decode("ascii").strip()

    def _run(self, *arguments: str, stdin: bytes = b"", output_bytes: float = LISTING_BYTES_MAX) -> bytes:
        program = Program(self._program.path, self._program.environment, (*self._program.fixed, "--literal-pathspecs"))
        return run_program(program, self._scratch, arguments, ProgramLimits(COMMAND_SECONDS_MAX, output_bytes), stdin)


def _quoted(folder: str) -> str:
    """Return a folder as one entry of a list that git splits at colons; in quotes it may hold anything."""
    escaped = folder.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
