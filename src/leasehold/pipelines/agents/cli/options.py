"""What the verbs share: where the database is, and how children are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from leasehold.pipelines.agents.coordinator.snapshot import SessionSnapshot
from leasehold.pipelines.shell.options import url_option

F = TypeVar("F", bound=Callable[..., Any])


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


def lanes_line(snapshot: SessionSnapshot) -> str:
    """Return what was spent in each lane."""
    parts = (
        f"{lane} {total.spent:,}" + ("" if total.limit is None else f" of {total.limit:,}")
        for lane, total in snapshot.lanes.items()
    )
    return "spent: " + ", ".join(parts)
