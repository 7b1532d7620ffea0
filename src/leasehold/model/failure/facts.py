"""The few facts of an error that are stored with its text: an allow-list, so that nothing else gets in."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from leasehold.model.failure.codes import smtp_answers, sqlstate_of
from leasehold.model.failure.named import names_of
from leasehold.model.failure.responses import read_attribute, response_of, whole_number
from leasehold.model.failure.wording import Redactor, fit
from leasehold.model.names import clean
from leasehold.redact import scrub

Facts = dict[str, str | int]

NUMBER_MAX: Final = 2**31 - 1
FACT_LENGTH_MAX: Final = 200
NUMBERS: Final = frozenset({"http_status", "smtp_code", "errno", "exit_code", "signal"})
WORDS: Final = {
    "request_id": re.compile(r"[\x21-\x7e]{1,200}\Z"),
    "sqlstate": re.compile(r"[0-9A-Z]{5}\Z"),
    "host": re.compile(r"[A-Za-z0-9_.:-]{1,200}\Z"),
    "method": re.compile(r"[A-Z]{1,20}\Z"),
}
SYSTEM: Final = frozenset({"builtins", "socket"})


def facts_of(errors: Iterable[BaseException], redact: Redactor) -> Facts:
    """Return the facts of errors; a later error's fact replaces an earlier one's."""
    found: Facts = {}
    for error in errors:
        found.update(_facts(error, redact))
    return found


def _facts(error: BaseException, redact: Redactor) -> Facts:
    try:
        checked = [(name, _checked(name, value, redact)) for name, value in _reported(error)]
    except BaseException:  # noqa: BLE001 — an error that cannot be read has no facts
        return {}
    return {name: value for name, value in checked if value is not None}


def trouble_of(error: BaseException, redact: Redactor) -> str:
    """Describe in a few words what went wrong in a rule."""
    name = type(error).__name__
    try:
        return fit(f"{name}: {error}", FACT_LENGTH_MAX, redact)[:FACT_LENGTH_MAX]
    except BaseException:  # noqa: BLE001 — its name is enough
        return clean(name, FACT_LENGTH_MAX)


def _reported(error: BaseException) -> Iterator[tuple[str, Any]]:
    response = response_of(error)
    if response is not None:
        yield "http_status", response.status
        yield "request_id", response.request_id
    yield from _place(error)
    names = names_of(error)
    if "smtplib.SMTPException" in names:
        yield from (("smtp_code", code) for code, _ in smtp_answers(error)[:1])
    if "psycopg.Error" in names:
        yield "sqlstate", sqlstate_of(error)
    if "subprocess.CalledProcessError" in names:
        yield from _exit(whole_number(read_attribute(error, "returncode")))
    if isinstance(error, OSError) and type(error).__module__ in SYSTEM:
        yield "errno", error.errno


def _place(error: BaseException) -> Iterator[tuple[str, Any]]:
    """Yield where a request went: only the host, because a path, a query or a user may be secret."""
    request = read_attribute(error, "request") or read_attribute(read_attribute(error, "response"), "request")
    if request is not None:
        yield "method", read_attribute(request, "method")
        yield "host", _host(read_attribute(request, "url"))
    names = names_of(error)
    if "urllib.HTTPError" in names:
        yield "host", _host(read_attribute(error, "url"))
    if "urllib3.PoolError" in names:
        yield "host", read_attribute(read_attribute(error, "pool"), "host")


def _host(url: object) -> str | None:
    try:
        return urlsplit(str(url)).hostname
    except BaseException:  # noqa: BLE001 — what is not a URL has no host
        return None


def _exit(code: int | None) -> Iterator[tuple[str, Any]]:
    if code is not None:
        yield ("signal", -code) if code < 0 else ("exit_code", code)


def _checked(name: str, value: object, redact: Redactor) -> str | int | None:
    if name in NUMBERS:
        number = whole_number(value)
        return number if number is not None and abs(number) <= NUMBER_MAX else None
    if not isinstance(value, str) or not WORDS[name].match(value):
        return None
    try:
        chosen = partial(scrub, entropy=False) if name == "request_id" and redact is scrub else redact
        return chosen(value)[:FACT_LENGTH_MAX]
    except BaseException:  # noqa: BLE001 — what cannot be redacted is not kept
        return None
