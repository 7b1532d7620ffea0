"""Runs git: never through a shell, with as little of other people's code as git can be asked to leave out.

Left out: hooks, the file system monitor, external diffs and text conversions, pagers, prompts, and variables such as
GIT_DIR that this process inherited. Not left out: filters (`filter.<name>.clean`, also those of git-lfs) that the
repository's own configuration defines. A child that runs as the same user may change that configuration.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from leasehold.errors import Unavailable
from leasehold.pipelines.agents.limits import READ_BYTES
from leasehold.redact import scrub

OPTIONS: Final = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.quotePath=true"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "submodule.recurse=false"),
)
KEPT: Final = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")
FIXED: Final = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
STDERR_MAX: Final = 4_096


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
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                ["git", *OPTIONS, *arguments],  # noqa: S607 — found on PATH, like every command here
                cwd=folder,
                env={**kept, **FIXED, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as error:
            raise GitFailed(f"git cannot be started in {folder}: {error.strerror}.") from None
        try:
            _pass_on(process, take)
            code = process.wait()
        finally:
            process.kill()
            process.communicate()
        if code:
            errors.seek(0)
            reason = errors.read(STDERR_MAX).decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise GitFailed(f"git {arguments[0]} ended with {code}: {scrub(reason)[:300]}")


def _pass_on(process: subprocess.Popen[bytes], take: Callable[[bytes], object]) -> None:
    assert process.stdout is not None
    while chunk := os.read(process.stdout.fileno(), READ_BYTES):
        take(chunk)
