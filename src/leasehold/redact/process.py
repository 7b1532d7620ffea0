"""The redactor of this process: the default policy, and the values that were registered when it started.

Its patterns take a tenth of a second to get ready, so that is done when something is to be hidden for the first time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.redact.policy import Policy, RedactionFailed

if TYPE_CHECKING:
    from leasehold.redact.redactor import Redacted, Redactor


# No lock is needed, so logging may call this from anywhere: values are only ever added, one atomic store each. Their
# number shows whether a redactor knows them all. One that was built from fewer is rebuilt, whichever thread stored it.
_values: dict[str, None] = {}
_latest: dict[bool, tuple[int, Redactor]] = {}


def register(*values: str) -> None:
    """Hide these exact values from now on, wherever this process calls `scrub`."""
    _values.update(dict.fromkeys(Policy(secrets=values).secrets))


def registered() -> tuple[str, ...]:
    return tuple(_values)


def _redactor(*, entropy: bool = True) -> Redactor:
    count, redactor = _latest.get(entropy, (-1, None))
    if redactor is None or count != len(_values):
        known = tuple(_values)
        try:
            from leasehold.redact.redactor import Redactor
        except Exception as error:  # noqa: BLE001 — as when a process ends: nothing goes out then
            raise RedactionFailed(f"The patterns are not there: {type(error).__name__}.") from None
        redactor = Redactor(Policy(secrets=known, entropy=entropy))
        _latest[entropy] = (len(known), redactor)
    return redactor


def scrub(text: str, *, entropy: bool = True) -> str:
    """Return the text without secrets, or raise `RedactionFailed`. Not `entropy`: opaque ids are no secrets here."""
    return _redactor(entropy=entropy).redact(text).text


def guarded(text: str, redactor: Redactor | None = None) -> str:
    """Clean a text that leaves the process, and check it again: nothing may be left to find and no line may be lost."""
    return redact_guarded(text, redactor).text


def redact_guarded(text: str, redactor: Redactor | None = None) -> Redacted:
    """Do the same, and return the value that proves it."""
    chosen = redactor or _redactor()
    clean = chosen.redact(text)
    if clean.text.count("\n") != text.count("\n") or chosen.redact(clean.text).text != clean.text:
        raise RedactionFailed("The clean text did not pass the second check.")
    return clean
