"""The audit trail: who did what to which row. Lines are only ever added, in the transaction of the change."""

import os
import pwd
from typing import Any

from msgspec import Struct

from leasehold import canonical
from leasehold.model.limits import PAGE_MAX
from leasehold.model.names import check_text, clean
from leasehold.store.db.database import Noun, Session

PRINCIPAL_LENGTH_MAX = 200


class AuditLine(Struct, frozen=True):
    """One line: `noun` and `noun_id` name the row, as in ('delivery', 7); `detail` is canonical JSON."""

    id: int
    at: int
    principal: str
    action: str
    noun: str
    noun_id: int
    detail: str


class Audit(Noun):
    def list(self, noun: str, noun_id: int, most: int = PAGE_MAX) -> list[AuditLine]:
        """Read the lines of one row, oldest first."""
        return self._list(AuditLine, "audit/list", noun=noun, noun_id=noun_id, most=most)


def add_line(
    session: Session, principal: str, action: str, noun: str, noun_id: int, detail: dict[str, Any] | None = None
) -> int:
    """Add a line inside the transaction of the change; return its number."""
    rows = session.run(
        "audit/add",
        principal=clean(principal, PRINCIPAL_LENGTH_MAX),
        action=action,
        noun=noun,
        noun_id=noun_id,
        detail=canonical.encode(detail or {}),
    )
    return int(rows[0][0])


def principal_of(given: str | None) -> str:
    """Return the given principal, else the user that this process runs as."""
    return system_user() if given is None else check_text(given, PRINCIPAL_LENGTH_MAX, "A principal")


def system_user() -> str:
    """Name the user that this process runs as, by its uid: environment variables can be set by anybody."""
    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
