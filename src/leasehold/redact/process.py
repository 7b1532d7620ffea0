"""The redactor of this process: the default policy, and the values that were registered when it started.

Its patterns take a tenth of a second to get ready, so that is done when something is to be hidden for the first time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.redact.errors import RedactionFailed
from leasehold.redact.policy import Policy

if TYPE_CHECKING:
    from leasehold.redact.redactor import Redactor


class _Process:
    """Needs no lock, so logging may call it from anywhere: values are only ever added, one atomic store each.

    Their number shows whether a redactor knows them all. One that was built from fewer is rebuilt, whichever thread
    stored it last.
    """

    def __init__(self) -> None:
        self._values: dict[str, None] = {}
        self._latest: dict[bool, tuple[int, Redactor]] = {}

    def register(self, values: tuple[str, ...]) -> None:
        for value in Policy(secrets=values).secrets:
            self._values[value] = None

    def values(self) -> tuple[str, ...]:
        return tuple(self._values)

    def redactor(self, *, entropy: bool = True) -> Redactor:
        count, redactor = self._latest.get(entropy, (-1, None))
        if redactor is None or count != len(self._values):
            known = tuple(self._values)
            redactor = _make(Policy(secrets=known, entropy=entropy))
            self._latest[entropy] = (len(known), redactor)
        return redactor


def _make(policy: Policy) -> Redactor:
    try:
        from leasehold.redact.redactor import Redactor
    except Exception as error:  # noqa: BLE001 — as when a process ends: nothing goes out then
        raise RedactionFailed(f"The patterns are not there: {type(error).__name__}.") from None
    return Redactor(policy)


_process = _Process()


def register(*values: str) -> None:
    """Hide these exact values from now on, wherever this process calls `scrub`."""
    _process.register(values)


def registered() -> tuple[str, ...]:
    return _process.values()


def scrub(text: str, *, entropy: bool = True) -> str:
    """Return the text without secrets, or raise `RedactionFailed`. Not `entropy`: opaque ids are no secrets here."""
    return _process.redactor(entropy=entropy).redact(text).text


def guarded(text: str, redactor: Redactor | None = None) -> str:
    """Clean a text that leaves the process, and check it again: nothing may be left to find and no line may be lost."""
    chosen = redactor or _process.redactor()
    clean = chosen.redact(text).text
    if clean.count("\n") != text.count("\n") or chosen.redact(clean).text != clean:
        raise RedactionFailed("The clean text did not pass the second check.")
    return clean
