"""What the verbs share: where the database is, and how children are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from leasehold.pipelines.agents.coordinator.snapshot import ChildRow, SessionSnapshot
from leasehold.pipelines.shell.options import url_option
from leasehold.pipelines.shell.text import one_line, printable

F = TypeVar("F", bound=Callable[..., Any])
LINE_WIDTH = 100


def place_options(function: F) -> F:
    """Add `--folder` and `--url`: which database."""
    folder = click.option(
        "--folder",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=Path(),
        show_default="this one",
        help="The plan's folder, whose .leasehold has the database.",
    )
    return folder(url_option(function))


def child_line(row: ChildRow) -> str:
    """Return one sentence about a child."""
    spent = [f"{row.tokens:,} tokens"] * (row.tokens > 0) + [f"{row.solver_calls:,} calls"] * (row.solver_calls > 0)
    facts = ", ".join([*spent, f"{row.seconds:,} s"]) if row.seconds or spent else ""
    why = f" ({row.code})" if row.code else ""
    return f"{printable(row.name)}  {row.status}{why}{f': {facts}' if facts else ''}"


def lanes_line(snapshot: SessionSnapshot) -> str:
    """Return what was spent in each lane."""
    parts = (
        f"{lane.value} {total.spent:,}" + ("" if total.limit is None else f" of {total.limit:,}")
        for lane, total in snapshot.lanes.items()
    )
    return "spent: " + ", ".join(parts)


class PlainBoard:
    """Prints a line when a child changes; for output that is no terminal."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[str, str]] = {}

    def __call__(self, snapshot: SessionSnapshot) -> None:
        for row in snapshot.rows:
            status, line = self._shown.get(row.child_id, ("", ""))
            if row.status != status:
                click.echo(child_line(row))
            elif row.line != line:
                click.echo(f"{printable(row.name)}  {one_line(row.line, LINE_WIDTH)}")
            self._shown[row.child_id] = (row.status, row.line)
