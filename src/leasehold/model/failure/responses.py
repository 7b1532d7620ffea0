"""HTTP responses that errors carry: their status, a few headers, and the delay they ask for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from leasehold.model.failure.named import names_of
from leasehold.model.limits import DELAY_SECONDS_MAX
from leasehold.retry_after import seconds_to_wait

HEADERS_MAX: Final = 1_000
HEADER_LENGTH_MAX: Final = 200
REQUEST_IDS: Final = (
    "x-request-id", "request-id", "x-amzn-requestid", "x-amz-request-id", "x-ms-request-id", "x-correlation-id",
    "cf-ray",
)  # fmt: skip
KEPT: Final = frozenset({"retry-after", "date", *REQUEST_IDS})
_exhausted: Final = re.compile(r"too many ([1-5][0-9]{2}) error responses\Z")


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A server's response. Header names are in lower case."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def request_id(self) -> str | None:
        return next((self.headers[name] for name in REQUEST_IDS if name in self.headers), None)

    def retry_after(self, now: int | None) -> float:
        """Return the requested delay in seconds, by the server's clock, else by `now` (microseconds); 0 without one."""
        headers, since = self.headers, None if now is None else now / 1_000_000
        return seconds_to_wait(
            headers.get("retry-after", ""), date=headers.get("date", ""), now=since, seconds_max=DELAY_SECONDS_MAX
        )


def read_attribute(thing: object, name: str) -> Any:
    """Read an attribute that may be a property that raises."""
    try:
        return getattr(thing, name, None)
    except BaseException:  # noqa: BLE001 — what cannot be read is not there
        return None


def whole_number(value: object) -> int | None:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def response_of(error: BaseException) -> HttpResponse | None:
    for holder, name in _holders(error):
        status = whole_number(read_attribute(holder, name))
        if status is not None and 100 <= status <= 599:  # noqa: PLR2004 — the statuses there are
            return HttpResponse(status, _headers(read_attribute(holder, "headers")))
    spent = _exhausted.match(str(error)) if "urllib3.ResponseError" in names_of(error) else None
    return HttpResponse(int(spent[1])) if spent else None


def _holders(error: BaseException) -> Iterator[tuple[object, str]]:
    response = read_attribute(error, "response")
    if response is not None:
        yield response, "status_code"
        yield response, "status"
    if "urllib.HTTPError" in names_of(error):
        yield error, "code"


def _headers(headers: object) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        for name, value in islice(read_attribute(headers, "items")(), HEADERS_MAX):
            if (lower := _text(name).lower()) in KEPT:
                found.setdefault(lower, _text(value).strip()[:HEADER_LENGTH_MAX])
    except BaseException:  # noqa: BLE001 — headers that cannot be read are ignored
        return found
    return found


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
