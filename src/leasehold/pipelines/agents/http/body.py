"""Reads the body of a request: JSON of a limited size that came in time, and nothing that could not be stored."""

import asyncio
import re
from typing import Any, Final

from starlette.requests import Request

from leasehold import canonical
from leasehold.errors import PayloadInvalid
from leasehold.pipelines.agents.http.errors import BodyInvalid, BodyTimeout, BodyTooLarge, MediaTypeRefused
from leasehold.pipelines.agents.http.limits import BODY_BYTES_MAX, BODY_SECONDS

_media_type: Final = re.compile(r"application/json\s*(;\s*charset\s*=\s*\"?utf-8\"?\s*)?\Z", re.IGNORECASE)


async def read_body(request: Request, seconds: float = BODY_SECONDS) -> dict[str, Any]:
    """Return the object that the body is."""
    check_media_type(request)
    try:
        async with asyncio.timeout(seconds):
            content = await _content(request)
    except TimeoutError:
        raise BodyTimeout(f"The limit is {seconds:g} s.") from None
    return await asyncio.to_thread(parse_body, content)


def check_media_type(request: Request) -> None:
    given = request.headers.getlist("content-type")
    if len(given) != 1 or not _media_type.match(given[0]):
        raise MediaTypeRefused
    if request.headers.get("content-encoding", "identity") != "identity":
        raise MediaTypeRefused


async def _content(request: Request) -> bytes:
    announced = request.headers.get("content-length", "0")
    if len(announced) > len(str(BODY_BYTES_MAX)) or int(announced) > BODY_BYTES_MAX:
        raise _too_large()
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > BODY_BYTES_MAX:
            raise _too_large()
    return bytes(content)


def _too_large() -> BodyTooLarge:
    return BodyTooLarge(f"The limit is {BODY_BYTES_MAX:,} bytes.", bytes_max=BODY_BYTES_MAX)


def parse_body(content: bytes) -> dict[str, Any]:
    try:
        found = canonical.parse(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BodyInvalid(f"Byte {error.start} is not UTF-8.") from None
    except PayloadInvalid as error:
        raise BodyInvalid(error.detail) from None
    if not isinstance(found, dict):
        raise BodyInvalid("It is another JSON value.")
    return found
