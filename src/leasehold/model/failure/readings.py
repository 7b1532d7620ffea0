"""Read the codes of some libraries' errors, by attributes: none of these libraries is imported."""

import re
from collections.abc import Callable
from typing import Final

from leasehold.model.failure.codes import by_errno, by_smtp, by_sqlite, by_sqlstate
from leasehold.model.failure.named import names_of
from leasehold.model.failure.responses import read_attribute, whole_number
from leasehold.model.failure.verdict import RETRYABLE

_state: Final = re.compile(r"[0-9A-Z]{5}\Z")

# A refused connection has no SQLSTATE, only the server's text.
_REFUSALS: Final = (
    (
        "AUTH_DENIED",
        re.compile(r"authentication failed|no pg_hba\.conf entry|role .* does not exist|no password supplied"),
    ),
    ("NOT_FOUND", re.compile(r"FATAL: .*database .* does not exist")),
    ("UPSTREAM_UNAVAILABLE", re.compile(r"too many clients|too many connections|the database system is")),
)
_REFUSAL_LENGTH_MAX: Final = 2_000


def smtp_answers(error: BaseException) -> list[tuple[int, object]]:
    """Return the codes and texts of an SMTP error: one, or one for each recipient."""
    recipients = read_attribute(error, "recipients")
    if isinstance(recipients, dict):
        found = [answer for answer in recipients.values() if isinstance(answer, tuple) and len(answer) == 2]  # noqa: PLR2004
    else:
        found = [(read_attribute(error, "smtp_code"), read_attribute(error, "smtp_error"))]
    return [(code, text) for number, text in found if (code := whole_number(number)) is not None]


def sqlstate_of(error: BaseException) -> str | None:
    state = read_attribute(error, "sqlstate")
    return str(state) if isinstance(state, str) and _state.match(state) else None


def _smtp(error: BaseException) -> str | None:
    """Nothing was sent if all recipients are refused: one that may be accepted later makes it retryable."""
    names = names_of(error)
    found = [known for code, text in smtp_answers(error) if (known := by_smtp(code, text, names))]
    return next((one for one in found if RETRYABLE[one]), found[0] if found else None)


def _psycopg(error: BaseException) -> str | None:
    state = sqlstate_of(error)
    if state is not None:
        return by_sqlstate(state)
    if "psycopg.OperationalError" not in names_of(error):
        return None
    text = str(error)[:_REFUSAL_LENGTH_MAX]
    return next((known for known, pattern in _REFUSALS if pattern.search(text)), None)


def _apsw(error: BaseException) -> str | None:
    code = whole_number(read_attribute(error, "extendedresult"))
    return None if code is None else by_sqlite(code)


def _sqlite3(error: BaseException) -> str | None:
    code = whole_number(read_attribute(error, "sqlite_errorcode"))
    return None if code is None else by_sqlite(code)


READERS: Final[dict[str, Callable[[BaseException], str | None]]] = {
    "apsw": _apsw,
    "psycopg": _psycopg,
    "smtplib": _smtp,
    "sqlite3": _sqlite3,
}


def class_by_code(error: BaseException, names: list[str]) -> str | None:
    """Classify an error by its code, if it is from a library whose codes are known."""
    root = next((root for name in names if (root := name.partition(".")[0]) in READERS), None)
    return READERS[root](error) if root else None


def class_by_errno(error: BaseException) -> str | None:
    number = whole_number(read_attribute(error, "errno")) if isinstance(error, OSError) else None
    return None if number is None else by_errno(number)
