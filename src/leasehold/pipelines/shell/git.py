"""git as every pipeline runs it: with as little of other people's code as git can be asked to leave out.

Left out: hooks, the file system monitor, pagers, prompts, maintenance, and variables such as GIT_DIR that this process
inherited. External diffs and text conversions are left out by each command that could run them (`NO_PROGRAMS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from leasehold.pipelines.shell.programs import Program, find_program, kept_environment

OPTIONS: Final = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.untrackedCache=false"),
    *("-c", "core.quotePath=true"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "submodule.recurse=false"),
)
NO_PROGRAMS: Final = ("--no-color", "--no-ext-diff", "--no-textconv")
KEPT: Final = ("PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME")
FIXED: Final = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}


def git_program(environment: Mapping[str, str] | None = None, kept: tuple[str, ...] = KEPT) -> Program:
    """Return git, with variables in addition to those that it always has."""
    return Program(find_program("git"), kept_environment(kept, {**FIXED, **(environment or {})}), OPTIONS)
