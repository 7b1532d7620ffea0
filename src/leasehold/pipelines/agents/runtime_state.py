"""What dispatch and recovery work with: records, a clock, ids, who they are. It is passed in; modules hold no state.

Live: the wall clock and random ids. Deterministic: times that the caller gives, and ids that are hashes of the
sequence numbers, so that the same calls leave the same bytes.
"""

import hashlib
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Final, Protocol

from leasehold import clock
from leasehold.canonical import encode
from leasehold.pipelines.agents.records.records import AgentRecords

Now = Callable[[], str]
DETERMINISTIC_TS: Final = "1970-01-01T00:00:00.000000Z"


class Ids(Protocol):
    def child_id(self, parent_session_id: str, queue_seq: int) -> str:
        """EventName a child that was spawned without a name."""

    def worker_run_id(self, parent_session_id: str, dispatch_seq: int) -> str:
        """EventName the run of a dispatched child, which is its lease."""


class RandomIds:
    def child_id(self, parent_session_id: str, queue_seq: int) -> str:  # noqa: ARG002
        return uuid.uuid4().hex

    def worker_run_id(self, parent_session_id: str, dispatch_seq: int) -> str:  # noqa: ARG002
        return uuid.uuid4().hex


class DeterministicIds:
    def child_id(self, parent_session_id: str, queue_seq: int) -> str:
        return sha256_of({"parent_session_id": parent_session_id, "queue_seq": queue_seq})

    def worker_run_id(self, parent_session_id: str, dispatch_seq: int) -> str:
        return sha256_of({"dispatch_seq": dispatch_seq, "parent_session_id": parent_session_id})


def sha256_of(value: object) -> str:
    """Return the hash of a value's canonical JSON."""
    return hashlib.sha256(encode(value).encode()).hexdigest()


def wall_time() -> str:
    return clock.moment(clock.wall()).isoformat(timespec="microseconds").replace("+00:00", "Z")


def fixed_time(ts: str = DETERMINISTIC_TS) -> Now:
    return lambda: ts


@dataclass(frozen=True, slots=True)
class Source:
    """Who writes events."""

    component: str = "leasehold.pipelines.agents"
    version: str = field(default_factory=lambda: version("leasehold"))
    provider: str = "leasehold"


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """One coordinator's view. `recovered` is set when the children of coordinators that are gone have been ended."""

    records: AgentRecords
    coordinator: str
    now: Now = wall_time
    ids: Ids = field(default_factory=RandomIds)
    source: Source = field(default_factory=Source)
    recovered: threading.Event = field(default_factory=threading.Event)
