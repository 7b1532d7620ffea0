"""Where the agents of a folder are: their database, and the files of each session.

    with open_place(Path(".")) as place: ...

`<folder>/.leasehold/agents.db`, unless a URL is given; `<folder>/.leasehold/agents/<session>/` has evidence, results,
diffs, work trees and event files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from leasehold import Leasehold, Misuse
from leasehold.pipelines.agents.coordinator.engine_jobs import register_kinds
from leasehold.pipelines.agents.records.records import AgentRecords, open_records
from leasehold.pipelines.agents.sessions import check_id
from leasehold.pipelines.shell.locate import HOME, database_kind, database_url, local_database

DATABASE: Final = "agents.db"
REMEMBERED: Final = "agents.database"  # the kind of a database outside the folder, never its URL
SESSIONS: Final = "agents"


@dataclass(frozen=True, slots=True)
class AgentsPlace:
    """An open database, and the folder that belongs to it. `root` holds the folders of all children."""

    root: Path
    app: Leasehold
    records: AgentRecords

    def home(self, parent_session_id: str) -> Path:
        """Return the folder of a session's files."""
        return self.root / HOME / SESSIONS / check_id(parent_session_id, "parent_session_id")

    def child_home(self, parent_session_id: str, child_id: str) -> Path:
        """Return the folder of what is kept of a child."""
        return self.home(parent_session_id) / "children" / check_id(child_id, "child_id")

    def worktrees(self, parent_session_id: str) -> Path:
        return self.home(parent_session_id) / "worktrees"

    def close(self) -> None:
        self.records.close()
        self.app.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class PlaceMissing(Misuse, code="URM_PLACE_MISSING"):
    """No session was ever run in this folder; name the plan's folder with --folder."""


def open_place(folder: Path, url: str = "", *, is_new: bool = True) -> AgentsPlace:
    """Open the database of a folder. If it `is_new`, it is made, else nothing is; another than before is refused."""
    root = Path(os.path.realpath(folder))
    note = root / HOME / REMEMBERED
    if not is_new and not url and not (note.exists() or (root / HOME / DATABASE).exists()):
        raise PlaceMissing(f"It is {root}.")
    remembered = note.read_text(encoding="utf-8").strip() if note.exists() else ""
    found = database_url(root, url, remembered, is_inside=(root / HOME / DATABASE).exists())
    if is_new:
        (root / HOME).mkdir(mode=0o700, parents=True, exist_ok=True)  # prompts and results are for this user alone
        if found and not remembered:
            note.write_text(f"{database_kind(found)}\n", encoding="utf-8")
    place = AgentsPlace(root, *_open(found or local_database(root, DATABASE)))
    if not is_new and not (place.app.store.schema_version() and place.records.version()):
        place.close()
        raise PlaceMissing(f"It is {root}, and its database has no sessions either.")
    place.app.migrate()
    place.records.migrate()
    return place


def _open(url: str) -> tuple[Leasehold, AgentRecords]:
    app = Leasehold(url)
    register_kinds(app)
    return app, open_records(url)
