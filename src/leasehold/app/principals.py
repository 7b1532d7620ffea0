"""Who acts: the principal that the audit trail names."""

from __future__ import annotations

import os
import pwd

from leasehold.model.names import check_text
from leasehold.store.audit import PRINCIPAL_LENGTH_MAX


def principal_of(given: str | None) -> str:
    """Return the principal given, or the user this process runs as: by its uid, since its environment can be set."""
    return system_user() if given is None else check_text(given, PRINCIPAL_LENGTH_MAX, "A principal")


def system_user() -> str:
    """Name the user this process runs as."""
    uid = os.getuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
