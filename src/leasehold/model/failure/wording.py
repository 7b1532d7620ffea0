"""The text and the stack of an error as they are stored: redacted first, then cut.

Only a window of a long text is read, and the end of the window is dropped after redaction: a secret that the window
cuts in half might not be recognised. Text that cannot be redacted is withheld.
"""

import traceback
from collections.abc import Callable, Iterator
from itertools import islice
from types import TracebackType
from typing import Final

from leasehold.model.limits import MESSAGE_LENGTH_MAX, STACK_LENGTH_MAX
from leasehold.model.names import clean

WINDOW_LENGTH: Final = 256 * 1024
WINDOW_MARGIN: Final = 8 * 1024
FRAMES_MAX: Final = 20
ENGINE: Final = "leasehold.runtime."
LINKS_MAX: Final = 6
LINK_LENGTH_MAX: Final = 500
WITHHELD: Final = "(withheld: it could not be redacted)"
UNREADABLE: Final = "(its text cannot be read)"

Redactor = Callable[[str], str]


def describe(error: BaseException, redact: Redactor) -> tuple[str, str]:
    """Return an error's text and stack, fit to be stored."""
    try:
        return fit(_text_of(error), MESSAGE_LENGTH_MAX, redact), _stack_of(error, redact)
    except BaseException:  # noqa: BLE001 — whatever stops the redactor, nothing unredacted is kept
        return clean(f"{type(error).__name__}: {WITHHELD}", MESSAGE_LENGTH_MAX), ""


def fit(text: str, limit: int, redact: Redactor) -> str:
    safe = redact(clean(text[:WINDOW_LENGTH], WINDOW_LENGTH))
    if len(text) > WINDOW_LENGTH:
        safe = safe[:-WINDOW_MARGIN]
        return f"{safe[:limit]}… ({len(text):,} characters in all)"
    return clean(safe, limit)


def _text_of(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 — a broken __str__ must not hide the failure itself
        text = UNREADABLE
    return f"{name}: {text}" if text else name


def _stack_of(error: BaseException, redact: Redactor) -> str:
    """Return the stack and the chain of causes: the latest first, so that cutting keeps it."""
    parts = [fit(_frames_of(error), STACK_LENGTH_MAX, redact)]
    for relation, link in islice(_links(error), LINKS_MAX):
        parts.append(f"{relation} {fit(_text_of(link), LINK_LENGTH_MAX, redact)}\n")
        parts.append(fit(_frames_of(link), STACK_LENGTH_MAX, redact))
    return clean("".join(parts), STACK_LENGTH_MAX)


def _frames_of(error: BaseException) -> str:
    try:
        return "".join(traceback.format_tb(_without_engine(error.__traceback__), limit=-FRAMES_MAX))
    except BaseException:  # noqa: BLE001 — frames that cannot be shown are left out
        return ""


def _without_engine(trace: TracebackType | None) -> TracebackType | None:
    """Leave out the engine's frames that lead to a handler, unless there is nothing else."""
    own = trace
    while own is not None and str(own.tb_frame.f_globals.get("__name__")).startswith(ENGINE):
        own = own.tb_next
    return own or trace


def _links(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    """Yield the errors behind an error, each once: members of a group, then causes and contexts."""
    seen = {id(error)}
    left = _behind(error)
    while left:
        relation, link = left.pop(0)
        if id(link) not in seen:
            seen.add(id(link))
            yield relation, link
            left.extend(_behind(link))


def _behind(error: BaseException) -> list[tuple[str, BaseException]]:
    members = error.exceptions[:LINKS_MAX] if isinstance(error, BaseExceptionGroup) else ()
    found = [("member", one) for one in members]
    if error.__cause__ is not None:
        found.append(("caused by", error.__cause__))
    elif error.__context__ is not None and not error.__suppress_context__:
        found.append(("while handling", error.__context__))
    return found
