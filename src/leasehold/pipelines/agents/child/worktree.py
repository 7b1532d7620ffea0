"""A `git worktree` for each child, and its diff as an artifact, so that a person can compare what several have done.

A work tree starts at the commit that HEAD names: changes that are not committed, ignored files and the contents of
submodules are not in it. The diff is everything that is different from that commit, whether the child committed it or
not, with new and binary files; what the repository ignores is left out, and a repository that the child made inside
appears as a link only. A diff is not redacted: a changed patch could not be applied.

What the child may do to `.git` in its work tree does not lead git elsewhere: git is given the folder by name. The
child shares the repository's objects and configuration; `git.py` states what that makes possible.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import Struct

from leasehold.errors import Misuse
from leasehold.pipelines.agents.child.files import DraftFile
from leasehold.pipelines.agents.child.git import GitFailed, git, stream_git
from leasehold.pipelines.agents.limits import DIFF_BYTES_MAX

PATH_MAX: Final = 8_192


class RepositoryMissing(Misuse, code="URM_WORKTREE_REPOSITORY_MISSING"):
    """A child with `worktree = true` needs a folder inside a git repository that has a commit."""


class DiffTooLarge(Misuse, code="URM_WORKTREE_DIFF_TOO_LARGE"):
    """The diff of a work tree is larger than its limit and was not kept."""


class WorktreeDiff(Struct, frozen=True):
    """A published diff, empty if nothing was changed."""

    path: Path
    base: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with at least one commit: `top` is its working folder, `common` what all its work trees share."""

    top: Path
    common: Path
    base: str

    @classmethod
    def of(cls, folder: Path) -> Repository:
        try:
            top = git(folder, "rev-parse", "--show-toplevel")
            common = git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
            base = git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        except GitFailed as error:
            raise RepositoryMissing(f"{folder}: {error.detail}") from None
        return cls(Path(os.path.realpath(top)), Path(os.path.realpath(common)), base)

    def add(self, folder: Path) -> Worktree:
        """Make a work tree, detached at the base, in a folder that does not exist yet."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(os.path.realpath(folder))
        git(self.top, "worktree", "add", "--quiet", "--detach", str(folder), self.base)
        own = next(record for record, path in self._registered() if path == folder)
        return Worktree(self, folder, own)

    def find(self, folder: Path) -> Worktree:
        """Return the work tree in a folder, which another process has made."""
        folder = Path(os.path.realpath(folder))
        for own, path in self._registered():
            if path == folder:
                return Worktree(self, folder, own)
        raise RepositoryMissing(f"{folder} is no work tree of {self.top}.")

    def remove_leftovers(self, root: Path) -> list[Path]:
        """Remove every work tree inside a folder: what a coordinator that crashed left there. Others are not touched.

        Also removed is what a crash inside `git worktree add` left: a folder without a record, or the reverse.
        """
        root = Path(os.path.realpath(root))
        found = {path for _, path in self._registered() if path.is_relative_to(root)}
        if root.is_dir():
            found |= {path for path in root.iterdir() if (path / ".git").is_file()}
        for path in sorted(found):
            self.forget(path)
        return sorted(found)

    def forget(self, folder: Path) -> None:
        """Remove a work tree's folder, and git's record of it. Nothing else is pruned."""
        unfinished = self._unfinished(folder)
        _remove_folder(folder)
        found = [record for record, path in self._registered() if path == folder]
        for record in [*found, *unfinished]:
            _remove_folder(record)

    def _unfinished(self, folder: Path) -> list[Path]:
        """Return the record that a folder names if git has not finished it. A child can write any name there."""
        try:
            text = os.fsdecode((folder / ".git").read_bytes()[:PATH_MAX])
        except OSError:
            return []
        record = Path(os.path.realpath(text.removeprefix("gitdir: ").rstrip("\n")))
        is_ours = record.parent == self.common / "worktrees" and record.is_dir()
        return [record] if is_ours and not (record / "gitdir").exists() else []

    def _registered(self) -> Iterator[tuple[Path, Path]]:
        """Yield git's record of each work tree (`gitrepository-layout`) and its folder."""
        for link in (self.common / "worktrees").glob("*/gitdir"):
            with suppress(OSError):
                path = os.fsdecode(link.read_bytes()).rstrip("\n")
                if path:
                    yield link.parent, Path(os.path.realpath(Path(path).parent))


@dataclass(frozen=True, slots=True)
class Worktree:
    """One child's work tree. `own` is git's record of it, in the repository."""

    repository: Repository
    folder: Path
    own: Path

    def inside(self, folder: Path) -> Path:
        """Return what a folder of the repository is in this work tree."""
        return self.folder / folder.relative_to(self.repository.top)

    def collect(self, path: Path, limit: int = DIFF_BYTES_MAX) -> WorktreeDiff:
        """Write everything that differs from the base to a file, as a patch that `git apply` takes.

        It is made with an index and objects of its own, so the repository stays as it is.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".diff-") as scratch, DraftFile(path) as draft:
            environment = self._environment(Path(scratch))

            def take(chunk: bytes) -> None:
                if draft.size + len(chunk) > limit:
                    raise DiffTooLarge(f"The limit is {limit:,} bytes.")
                draft.write(chunk)

            git(self.folder, "read-tree", self.repository.base, environment=environment)
            git(self.folder, "add", "--all", ".", environment=environment)
            options = ("--cached", "--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv")
            stream_git(self.folder, ("diff", *options, self.repository.base), take, environment)
            return WorktreeDiff(path, self.repository.base, draft.size, draft.publish())

    def remove(self) -> None:
        """Remove it, with everything in it."""
        self.repository.forget(self.folder)

    def _environment(self, scratch: Path) -> dict[str, str]:
        objects = scratch / "objects"
        objects.mkdir()
        return {
            "GIT_DIR": str(self.own),
            "GIT_WORK_TREE": str(self.folder),
            "GIT_INDEX_FILE": str(scratch / "index"),
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.repository.common / "objects"),
        }


def _remove_folder(folder: Path) -> None:
    """Remove a folder, also one whose rights were taken away; links are removed, not followed."""
    if folder.is_symlink():
        folder.unlink()
        return
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except PermissionError:
        _give_rights_back(folder)
        shutil.rmtree(folder)


def _give_rights_back(folder: Path) -> None:
    folder.chmod(stat.S_IRWXU)
    for above, folders, _ in os.walk(folder):
        for path in (Path(above, name) for name in folders):
            if not path.is_symlink():
                path.chmod(stat.S_IRWXU)  # before the walk goes there
