"""The content of a lock file: five fields and nothing else. Pure: texts in, values out, no files and no clock.

`parse` is strict because it decides whether a run may start: a lock with unexpected content is invalid and needs a
person; it is never stale, which would allow a takeover.
"""

import json
import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from leasehold import canonical
from leasehold.clock import SECOND
from leasehold.errors import OptionInvalid, PayloadInvalid
from leasehold.runlock.constants import LOCK_FUTURE_MAX_SECONDS, LOCK_STALE_TTL_SECONDS, RUN_ID_CHARACTERS_MAX
from leasehold.runlock.errors import LockInvalid

FIELDS: Final = ("pid", "host", "started_at", "last_heartbeat_at", "run_id")
REMEDY: Final = "Inspect it; to continue, rename it to RUNNING.invalid.<timestamp>.lock and start again."
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Payload:
    """The five fields, as written."""

    pid: int
    host: str
    started_at: str
    last_heartbeat_at: str
    run_id: str

    @property
    def heartbeat(self) -> int:
        """The last heartbeat, in microseconds since 1970."""
        return microseconds_of(self.last_heartbeat_at)

    def encode(self) -> bytes:
        return (json.dumps(asdict(self), indent=2) + "\n").encode("ascii")

    def summary(self) -> str:
        """Describe the holder on one line, with control characters escaped."""
        whose = f"run_id={shown(self.run_id)} pid={self.pid} host={shown(self.host)}"
        return f"{whose} last_heartbeat_at={self.last_heartbeat_at}"


def parse(content: bytes) -> Payload:
    """Return the payload of a lock file, or raise `LockInvalid` with the reason."""
    try:
        value = canonical.parse(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise LockInvalid(f"RUNNING.lock is not UTF-8. {REMEDY}") from None
    except PayloadInvalid as error:
        raise LockInvalid(f"RUNNING.lock is not JSON. {shown(error.detail)} {REMEDY}") from None
    if not isinstance(value, dict) or value.keys() != set(FIELDS):
        raise LockInvalid(f"RUNNING.lock does not have exactly the fields {', '.join(FIELDS)}. {REMEDY}")
    _check_fields(value)
    return Payload(**value)


def _check_fields(value: dict[str, Any]) -> None:
    if type(value["pid"]) is not int or value["pid"] < 1:
        raise LockInvalid(f"pid in RUNNING.lock is not a positive integer. {REMEDY}")
    for name in FIELDS[1:]:
        if not isinstance(value[name], str) or not value[name].strip():
            raise LockInvalid(f"{name} in RUNNING.lock is not a text, or empty. {REMEDY}")
    for name in ("started_at", "last_heartbeat_at"):
        try:
            microseconds_of(value[name])
        except ValueError:
            raise LockInvalid(
                f"{name} in RUNNING.lock is not a UTC time such as 2026-01-31T12:00:00Z. {REMEDY}"
            ) from None


def is_stale(payload: Payload, now: int) -> bool:
    """Whether a valid lock no longer blocks a new run at `now`, in microseconds since 1970."""
    age = now - payload.heartbeat
    if age < -LOCK_FUTURE_MAX_SECONDS * SECOND:
        raise LockInvalid(
            f"last_heartbeat_at in RUNNING.lock is {-age // SECOND} s ahead of this machine's clock, more than"
            f" {LOCK_FUTURE_MAX_SECONDS} s. Compare the clocks of the machines that share this folder. {REMEDY}"
        )
    return age > LOCK_STALE_TTL_SECONDS * SECOND


def microseconds_of(text: str) -> int:
    """Read a UTC time that ends in Z; raise `ValueError` for any other."""
    if not _TIME.fullmatch(text):
        raise ValueError("not a UTC time")
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def text_of(microseconds: int) -> str:
    """Write a time as lock files have it."""
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def check_run_id(run_id: str) -> str:
    """Return `run_id` if a run may be called so."""
    if 0 < len(run_id) <= RUN_ID_CHARACTERS_MAX and run_id.isprintable() and run_id.strip():
        return run_id
    raise OptionInvalid(f"A run_id has 1 to {RUN_ID_CHARACTERS_MAX} printable characters; got {run_id[:80]!a}.")


def shown(text: object) -> str:
    """Return a text in which whatever a terminal could obey, or could not print, is a visible escape."""
    plain = str(text)
    if plain.isprintable():
        return plain
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in plain)
