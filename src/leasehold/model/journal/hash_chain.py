"""The hash chain over a task's events: each event's mark covers its own fields and the mark before it.

Both databases compute the same bytes when they write an event; a reader checks them with `link`. The chain of a task
begins with its facts, so that a changed payload is detected too; its head is stored in the row of the task's place.
"""

import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from leasehold.model.journal.event import Event

MARK_BYTES: Final = 16
_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder()

# What a task is submitted with and what never changes: the columns of `task`, and how many others it waited for then (a
# job for its stages, a stage for those it comes after). The key comes last: only a key may hold any character.
FACTS: Final = (
    "kind", "stage", "segment", "epoch", "parent_id", "each_field", "queue", "priority", "attempts_max", "lease_ms",
    "on_lost", "unmet", "payload", "item", "key",
)  # fmt: skip


def root(*facts: str | int | None) -> bytes:
    """Return the digest that a task's first mark follows: of its facts at submit, in the order of `FACTS`."""
    assert len(facts) == len(FACTS)
    return _digest("\x1f".join("" if fact is None else str(fact) for fact in facts).encode("utf-8"))


def opening(at: int, *facts: str | int | None) -> Callable[[str, str], bytes]:
    """Return a function that makes the first marks of jobs that differ only in payload and key."""
    head = "\x1f".join("" if fact is None else str(fact) for fact in facts)
    assert len(facts) == FACTS.index("payload")
    tail = f"{at}|submitted||||".encode()

    def first(payload: str, key: str) -> bytes:
        return _digest(_digest(f"{head}\x1f{payload}\x1f\x1f{key}".encode()) + tail)

    return first


def link(before: bytes | None, event: Event, output: str | None = None) -> bytes:
    """Return the mark of an event that follows the mark `before`; the mark of DONE covers the output."""
    detail = event.detail if output is None else f"{event.detail or ''}\x1f{output}"
    return mark(before, event.at, event.name, event.fence, event.attempt, event.worker, detail)


def mark(
    before: bytes | None,
    at: int,
    name: str,
    fence: int | None,
    attempt: int | None,
    worker: int | None,
    detail: str | None,
) -> bytes:
    numbers = (
        f"{'' if fence is None else fence}|{'' if attempt is None else attempt}|{'' if worker is None else worker}"
    )
    return _digest((before or b"") + f"{at}|{name}|{numbers}|{detail or ''}".encode())


def marks(rows: str) -> str:
    """Return the marks of many events: JSON arrays of a name, the mark before (hex) and the arguments of `mark`."""
    found = [(name, mark(bytes.fromhex(before), *fields).hex()) for name, before, *fields in _decoder.decode(rows)]
    return _encoder.encode(found).decode("ascii")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:MARK_BYTES]
