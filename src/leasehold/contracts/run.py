"""Checking a whole run folder: its manifest, all its rows, that they are of the manifest's run, and what it counts.

Which files a folder has is described by a `RunLayout` of the pipeline that writes it. Installed pipelines publish
theirs under the entry-point group `leasehold.run_layouts`.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path, PurePosixPath
from typing import Any, Final, Protocol

from leasehold.contracts.diagnostics import Diagnostic, FileUnreadable, Problem, RunLayoutMissing, located
from leasehold.contracts.registry import Consumer, Registry, published
from leasehold.contracts.safe_open import descended, folder, names, opened, start_of
from leasehold.contracts.validate_blocks import ROW_BYTES_MAX, CheckedBlock, Identity, blocks, check_block, parse_row

GROUP: Final = "leasehold.run_layouts"
PROBLEMS_KEPT: Final = 1_000


class RunRules(Protocol):
    """What a pipeline checks beyond its contracts; made once for each check of a folder."""

    def check_rows(self, path: str, block: CheckedBlock) -> Iterable[Diagnostic]:
        """Read the rows of a block that obey their contract, and return what is wrong between them."""

    def check_manifest(self, manifest: Mapping[str, Any], sound: frozenset[str]) -> Iterable[Diagnostic]:
        """Compare the manifest with the rows; `sound` are the files in which every row obeys."""


@dataclass(frozen=True, slots=True)
class RunLayout:
    """The files of a run folder, each with the contract of its rows, in the order in which they are checked.

    Each of `files` has to exist, though it may be empty; in each of `folders` every `*.jsonl` is checked. `identity`
    are the fields of the manifest that all rows repeat.
    """

    manifest: str
    manifest_contract: str
    files: Mapping[str, str]
    folders: Mapping[str, str]
    identity: tuple[str, ...]
    rules: Callable[[], RunRules]


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: how many rows were read, how many problems there are, and the first of these."""

    rows: int
    problems: int
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


@cache
def published_layouts() -> tuple[RunLayout, ...]:
    """Return the layouts of the installed pipelines, by name."""
    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    if not found:
        raise RunLayoutMissing
    return tuple(entry.load() for entry in found)


def check_run(
    path: str | Path,
    *,
    layout: RunLayout | None = None,
    registry: Registry | None = None,
    problems_kept: int = PROBLEMS_KEPT,
) -> Checked:
    """Check a run folder. It must not be written to meanwhile; raises only if the folder itself cannot be opened.

    Without `layout` it is the published one that most of the folder's files belong to.
    """
    with folder(path) as root:
        check = _Check(root, layout or _layout_of(root), registry or published(), problems_kept)
        check.run()
    return Checked(check.rows, check.problems, tuple(check.kept))


def _layout_of(root: int) -> RunLayout:
    def there(layout: RunLayout) -> int:
        return sum(_exists(path, root) for path in (*layout.files, *layout.folders))

    return max(published_layouts(), key=there)


def _exists(path: str, root: int) -> bool:
    try:
        os.stat(path, dir_fd=root, follow_symlinks=False)
    except OSError:
        return False
    return True


@dataclass(slots=True)
class _Check:
    root: int
    layout: RunLayout
    registry: Registry
    most: int
    rows: int = 0
    problems: int = 0
    kept: list[Diagnostic] = field(default_factory=list)
    identity: Identity | None = None

    def run(self) -> None:
        layout, rules = self.layout, self.layout.rules()
        manifest = self._manifest()
        self.identity = _identity(manifest, layout.identity)
        sound = frozenset(path for path, name in layout.files.items() if self._file(path, name, rules))
        for home, name in layout.folders.items():
            for path in self._rows_in(home):
                self._file(path, name, rules)
        self._report(rules.check_manifest(manifest, sound))

    def _manifest(self) -> dict[str, Any]:
        """Return the manifest; an empty one if it is not in order."""
        name = self.layout.manifest
        try:
            with opened(name, self.root) as read:
                manifest = parse_row(start_of(read, ROW_BYTES_MAX + 1))
        except FileUnreadable as error:
            manifest = error.problem
        if isinstance(manifest, Problem):
            problems, manifest = [manifest], {}
        else:
            problems = Consumer(self.registry, self.layout.manifest_contract).problems(manifest)
        self._report(located(name, None, problem) for problem in problems)
        return {} if problems else manifest

    def _rows_in(self, home: str) -> list[str]:
        """Return the files of rows in a folder. As for a shell, names that begin with a dot are left out."""
        try:
            with descended(self.root, PurePosixPath(home)) as inner:
                found = [name for name in names(inner) if name.endswith(".jsonl") and not name.startswith(".")]
        except FileUnreadable as error:
            self._report([located(home, None, error.problem)])
            return []
        return [f"{home}/{name}" for name in found]

    def _file(self, path: str, name: str, rules: RunRules) -> bool:
        before = self.problems
        consumer, relative = Consumer(self.registry, name), PurePosixPath(path)
        try:
            with descended(self.root, relative.parent) as home, opened(relative.name, home) as read:
                for first, text in blocks(read):
                    checked = check_block(first, text, consumer, self.identity)
                    self.rows += checked.count
                    self._report(located(path, line, problem) for line, problem in checked.refused)
                    self._report(rules.check_rows(path, checked))
        except FileUnreadable as error:
            self._report([located(path, None, error.problem)])
        return self.problems == before

    def _report(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.problems += 1
            if len(self.kept) < self.most:
                self.kept.append(diagnostic)


def _identity(manifest: Mapping[str, Any], fields: tuple[str, ...]) -> Identity | None:
    found = {name: manifest[name] for name in fields if isinstance(manifest.get(name), str)}
    return found if len(found) == len(fields) else None
