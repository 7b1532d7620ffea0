"""Who gives a command: the user of this operating system, as the audit trail keeps it."""

from __future__ import annotations

from leasehold.app.principals import system_user


def principal() -> str:
    """Name the user this process runs as."""
    return system_user()
