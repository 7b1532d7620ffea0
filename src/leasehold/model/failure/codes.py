"""Codes that errors carry, and what each means: HTTP and SMTP answers, providers' words, SQLSTATE, SQLite, errno."""

from __future__ import annotations

import errno
from typing import Final, TypeVar

Code = TypeVar("Code", int, str)

PROVIDER_WORDS: Final[dict[str, str]] = {
    "rate_limit_exceeded": "RATE_LIMITED",
    "rate_limit_error": "RATE_LIMITED",
    "insufficient_quota": "QUOTA_EXHAUSTED",
    "billing_hard_limit_reached": "QUOTA_EXHAUSTED",
    "internal_error": "UPSTREAM_ERROR",
    "server_error": "UPSTREAM_ERROR",
    "api_error": "UPSTREAM_ERROR",
    "overloaded_error": "UPSTREAM_UNAVAILABLE",
    "content_filter": "POLICY_REJECTED",
    "content_policy_violation": "POLICY_REJECTED",
    "invalid_api_key": "AUTH_DENIED",
    "authentication_error": "AUTH_DENIED",
    "permission_error": "AUTH_DENIED",
    "model_not_found": "NOT_FOUND",
    "not_found_error": "NOT_FOUND",
    "context_length_exceeded": "SCHEMA_INVALID",
}

# What is not listed is as its hundred: a resource that moved, a request that cannot be served as it stands, a server
# that failed. 520 to 524 and 529 are what proxies and providers say for "down" and "overloaded".
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

# A 5xx that is not listed refuses the part of the dialogue it answers; -1 is smtplib's word for a broken line.
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


def _turned(table: dict[str, tuple[Code, ...]]) -> dict[Code, str]:
    return {code: error_class for error_class, codes in table.items() for code in codes}


_status, _smtp, _sqlstate = _turned(_STATUS), _turned(_SMTP), _turned(_SQLSTATE)
_sqlite, _errno = _turned(_SQLITE), _turned(_ERRNO)


def by_status(status: int) -> str | None:
    """Class an HTTP answer; None if it tells of no failure."""
    return _status.get(status) or _STATUS_HUNDRED.get(status // 100)


def by_smtp(code: int, said: object, names: list[str]) -> str | None:
    """Class an SMTP answer by its code, and a refusal by the part that was refused."""
    if code in _smtp:
        return _smtp[code]
    if code // 100 != _SMTP_REFUSAL:
        return "UPSTREAM_UNAVAILABLE" if code // 100 == _SMTP_LATER else None
    if isinstance(said, bytes) and said.startswith(_SMTP_POLICY):
        return "POLICY_REJECTED"
    return next((_SMTP_PART[name] for name in names if name in _SMTP_PART), "NOT_FOUND")


def by_sqlstate(state: str) -> str | None:
    """Class a SQLSTATE."""
    return next((_sqlstate[state[:end]] for end in (5, 2) if state[:end] in _sqlstate), None)


def by_sqlite(code: int) -> str | None:
    """Class a result code of SQLite."""
    return _sqlite.get(code) or _sqlite.get(code & 0xFF)


def by_errno(number: int) -> str | None:
    """Class an error number of the operating system."""
    return _errno.get(number)
