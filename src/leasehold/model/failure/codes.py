"""Codes that errors carry, and the class of each: HTTP, SMTP, providers' codes, SQLSTATE, SQLite, errno.

They are read by attributes: none of the libraries that raise these errors is imported.
"""

import errno
import re
from collections.abc import Callable
from typing import Final, TypeVar

from leasehold.model.failure.named import names_of
from leasehold.model.failure.responses import read_attribute, whole_number
from leasehold.model.failure.verdict import RETRYABLE

Code = TypeVar("Code", int, str)

_PROVIDER: Final[dict[str, tuple[str, ...]]] = {
    "RATE_LIMITED": ("rate_limit_exceeded", "rate_limit_error"),
    "QUOTA_EXHAUSTED": ("insufficient_quota", "billing_hard_limit_reached"),
    "UPSTREAM_ERROR": ("internal_error", "server_error", "api_error"),
    "UPSTREAM_UNAVAILABLE": ("overloaded_error",),
    "POLICY_REJECTED": ("content_filter", "content_policy_violation"),
    "AUTH_DENIED": ("invalid_api_key", "authentication_error", "permission_error"),
    "NOT_FOUND": ("model_not_found", "not_found_error"),
    "SCHEMA_INVALID": ("context_length_exceeded",),
}

# A status that is not listed has the class of its hundred: moved, invalid request, server error.
# Proxies and providers send 520 to 524 and 529 for "down" and "overloaded".
_STATUS: Final[dict[str, tuple[int, ...]]] = {
    "NETWORK_TIMEOUT": (408,),
    "UPSTREAM_UNAVAILABLE": (421, 502, 503, 504, 520, 521, 522, 523, 524, 529),
    "RATE_LIMITED": (425, 429),
    "QUOTA_EXHAUSTED": (402,),
    "CONFLICT": (409, 412, 423),
    "AUTH_DENIED": (401, 403, 407, 511),
    "NOT_FOUND": (404, 410),
    "POLICY_REJECTED": (451,),
}
_STATUS_HUNDRED: Final = {3: "NOT_FOUND", 4: "SCHEMA_INVALID", 5: "UPSTREAM_ERROR"}

# A 5xx that is not listed refuses the command it answers; -1 is smtplib's code for a lost connection.
_SMTP: Final[dict[str, tuple[int, ...]]] = {
    "NETWORK_RESET": (-1,),
    "SCHEMA_INVALID": (500, 501, 502, 503, 504, 552, 555),
    "AUTH_DENIED": (530, 534, 535, 538),
    "POLICY_REJECTED": (541, 554),
}
_SMTP_PART: Final = {
    "smtplib.SMTPAuthenticationError": "AUTH_DENIED",
    "smtplib.SMTPSenderRefused": "POLICY_REJECTED",
    "smtplib.SMTPDataError": "POLICY_REJECTED",
}
_SMTP_LATER: Final = 4
_SMTP_REFUSAL: Final = 5
_SMTP_POLICY: Final = b"5.7."

# The longest beginning of a SQLSTATE that is listed decides.
_SQLSTATE: Final[dict[str, tuple[str, ...]]] = {
    "NETWORK_TIMEOUT": ("57014",),
    "NETWORK_RESET": ("08", "25P03"),
    "UPSTREAM_UNAVAILABLE": ("53", "57", "25006"),
    "UPSTREAM_ERROR": ("38", "39", "58", "XX"),
    "CONFLICT": ("23505", "23P01", "40", "55", "72"),
    "SCHEMA_INVALID": ("21", "22", "23", "44", "54"),
    "AUTH_DENIED": ("28", "42501"),
    "NOT_FOUND": ("3D", "57P04", "P0002"),
    "POLICY_REJECTED": ("P0001",),
    "BUG": ("0A", "25", "26", "34", "3F", "42", "P0"),
}

# Result codes of SQLite: extended ones first, then the last byte. 1555, 2067 and 2579 are unique constraints.
_SQLITE: Final[dict[str, tuple[int, ...]]] = {
    "CONFLICT": (5, 6, 17, 1555, 2067, 2579),
    "DISK_FULL": (13,),
    "RESOURCES_EXHAUSTED": (7,),
    "AUTH_DENIED": (3, 8, 23),
    "SCHEMA_INVALID": (18, 19, 20, 25),
    "BUG": (1, 11, 21, 26),
}

_ERRNO: Final[dict[str, tuple[int, ...]]] = {
    "NETWORK_RESET": (errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENOTCONN),
    "CONFLICT": (errno.EBUSY, errno.ETXTBSY, errno.EADDRINUSE),
    "SCHEMA_INVALID": (errno.ENAMETOOLONG,),
    "AUTH_DENIED": (errno.EROFS,),
    "DISK_FULL": (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    "RESOURCES_EXHAUSTED": (errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL),
}


# A refused connection has no SQLSTATE, only the server's text.
_REFUSALS: Final = {
    "AUTH_DENIED": re.compile(
        r"authentication failed|no pg_hba\.conf entry|role .* does not exist|no password supplied"
    ),
    "NOT_FOUND": re.compile(r"FATAL: .*database .* does not exist"),
    "UPSTREAM_UNAVAILABLE": re.compile(r"too many clients|too many connections|the database system is"),
}
_REFUSAL_LENGTH_MAX: Final = 2_000


def _inverted(table: dict[str, tuple[Code, ...]]) -> dict[Code, str]:
    return {code: error_class for error_class, codes in table.items() for code in codes}


_provider, _status, _smtp = _inverted(_PROVIDER), _inverted(_STATUS), _inverted(_SMTP)
_sqlstate, _sqlite, _errno = _inverted(_SQLSTATE), _inverted(_SQLITE), _inverted(_ERRNO)
_state: Final = re.compile(r"[0-9A-Z]{5}\Z")


def by_status(status: int) -> str | None:
    """Return the class of an HTTP status; None if it is no failure."""
    return _status.get(status) or _STATUS_HUNDRED.get(status // 100)


def by_sqlstate(state: str) -> str | None:
    return next((_sqlstate[state[:end]] for end in (5, 2) if state[:end] in _sqlstate), None)


def by_sqlite(code: int) -> str | None:
    return _sqlite.get(code) or _sqlite.get(code & 0xFF)


def by_errno(number: int) -> str | None:
    return _errno.get(number)


def provider_class(error: BaseException) -> str | None:
    """Classify by the code or type in the provider's error body; a code is more precise than a type."""
    body = read_attribute(error, "body")
    inner = body.get("error") if isinstance(body, dict) else None
    bodies = [one for one in (inner, body) if isinstance(one, dict)]
    words = [read_attribute(error, "code"), *(one.get("code") for one in bodies), *(one.get("type") for one in bodies)]
    return next((_provider[word] for word in words if isinstance(word, str) and word in _provider), None)


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


def by_smtp(code: int, text: object, names: list[str]) -> str | None:
    """Return the class of an SMTP response by its code; a refusal by the part that was refused."""
    if code in _smtp:
        return _smtp[code]
    if code // 100 != _SMTP_REFUSAL:
        return "UPSTREAM_UNAVAILABLE" if code // 100 == _SMTP_LATER else None
    if isinstance(text, bytes) and text.startswith(_SMTP_POLICY):
        return "POLICY_REJECTED"
    return next((_SMTP_PART[name] for name in names if name in _SMTP_PART), "NOT_FOUND")


def _read_smtp(error: BaseException) -> str | None:
    """Nothing was sent if all recipients are refused: one that may be accepted later makes it retryable."""
    names = names_of(error)
    found = [known for code, text in smtp_answers(error) if (known := by_smtp(code, text, names))]
    return next((one for one in found if RETRYABLE[one]), found[0] if found else None)


def _read_psycopg(error: BaseException) -> str | None:
    state = sqlstate_of(error)
    if state is not None:
        return by_sqlstate(state)
    if "psycopg.OperationalError" not in names_of(error):
        return None
    text = str(error)[:_REFUSAL_LENGTH_MAX]
    return next((known for known, pattern in _REFUSALS.items() if pattern.search(text)), None)


def _read_sqlite(error: BaseException) -> str | None:
    """Read the code of an error of apsw or of the standard library's sqlite3."""
    number = whole_number(read_attribute(error, "extendedresult") or read_attribute(error, "sqlite_errorcode"))
    return None if number is None else by_sqlite(number)


READERS: Final[dict[str, Callable[[BaseException], str | None]]] = {
    "apsw": _read_sqlite,
    "psycopg": _read_psycopg,
    "smtplib": _read_smtp,
    "sqlite3": _read_sqlite,
}


def class_by_code(error: BaseException, names: list[str]) -> str | None:
    """Classify an error by its code, if it is from a library whose codes are known."""
    root = next((root for name in names if (root := name.partition(".")[0]) in READERS), None)
    return READERS[root](error) if root else None


def class_by_errno(error: BaseException) -> str | None:
    number = whole_number(read_attribute(error, "errno")) if isinstance(error, OSError) else None
    return None if number is None else by_errno(number)
