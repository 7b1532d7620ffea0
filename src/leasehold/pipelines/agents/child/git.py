"""Runs git in repositories and work trees, as `pipelines/shell/git.py` has it run.

What is not left out there: filters (`filter.<name>.clean`, also those of git-lfs) that the repository's own
configuration defines. A child that runs as the same user may change that configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from leasehold.errors import Unavailable
from leasehold.pipelines.shell.git import git_program
from leasehold.pipelines.shell.programs import ProgramFailed, ProgramLimits, ProgramMissing, stream_program


class GitFailed(Unavailable, code="URM_WORKTREE_GIT_FAILED"):
    """A git command failed."""


def git(folder: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Run git in a folder and return what it printed, without the line end."""
    parts: list[bytes] = []
    stream_git(folder, arguments, parts.append, environment)
    return b"".join(parts).decode("utf-8", "surrogateescape").removesuffix("\n")


def stream_git(
    folder: Path,
    arguments: tuple[str, ...],
    take: Callable[[bytes], object],
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run git and pass on what it prints, chunk by chunk. `take` may raise, which ends git."""
    try:
        stream_program(git_program(environment), folder, arguments, ProgramLimits(), take)
    except (ProgramFailed, ProgramMissing) as error:
        raise GitFailed(error.detail) from None
