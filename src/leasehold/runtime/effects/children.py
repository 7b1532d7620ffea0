"""The linked jobs that one attempt submits. One that an earlier attempt has made is found, not made again."""

import threading
from collections.abc import Awaitable
from functools import cached_property, partial
from typing import Any, Final

from leasehold import canonical, clock
from leasehold.errors import (
    ArgumentsInvalid,
    Cancelled,
    KeyConflict,
    KindUnknown,
    LeaseholdError,
    OptionInvalid,
    PayloadInvalid,
)
from leasehold.model.effect import Entry, identity_of_lease
from leasehold.model.lease import Lease
from leasehold.model.limits import DELAY_SECONDS_MAX, LINKS_MAX, PRIORITY_MAX, PRIORITY_MIN
from leasehold.model.names import check_name, check_range, check_whole
from leasehold.model.tree.link import Link, LinkAnswer, LinkedJob, make_link
from leasehold.runtime.commit.requests import CommitChannel
from leasehold.runtime.effects.pending import PendingAnswers

REFUSALS: Final[dict[str, type[LeaseholdError]]] = {
    kind.code: kind for kind in (ArgumentsInvalid, KeyConflict, KindUnknown, OptionInvalid)
}


class Children:
    """Submits linked jobs."""

    def __init__(self, lease: Lease, channel: CommitChannel, pending: PendingAnswers) -> None:
        self._lease = lease
        self._channel = channel
        self._pending = pending
        self._lock = threading.Lock()
        self._count = 0

    def submit(self, link: Link) -> LinkedJob:
        # crash here: linked but not answered
        # The child is there, and the next attempt finds it.
        return _child(link, self._channel.hand_over(link)())

    def submit_async(self, link: Link) -> Awaitable[LinkedJob]:
        """Request a linked job at once; the handler may await its answer later."""
        return self._pending.ask(link, partial(_child, link))

    @cached_property
    def _identity(self) -> str:
        return identity_of_lease(self._lease)

    def make(self, kind: object, payload: object, key: str, priority: int, delay: float) -> Link:
        """Check what a handler passes."""
        name = check_name(getattr(kind, "name", kind), "kind")
        if payload is not None and not isinstance(payload, dict):
            raise PayloadInvalid(f"A payload is an object whose fields become arguments; got {type(payload).__name__}.")
        text = canonical.encode(payload or {})
        check_whole(priority, PRIORITY_MIN, PRIORITY_MAX, "priority")
        check_range(delay, 0, DELAY_SECONDS_MAX, "delay (seconds)")
        with self._lock:
            self._count += 1
        if self._count > LINKS_MAX:
            raise OptionInvalid(f"An attempt submits at most {LINKS_MAX:,} linked jobs; have these submit others.")
        options: dict[str, Any] = {"priority": priority, "delay_us": clock.microseconds(delay)}
        return make_link(self._lease, self._identity, key, name, text, **options)


def _child(link: Link, entry: Entry) -> LinkedJob:
    result = canonical.decode(entry.result or "{}")
    if entry.verdict == LinkAnswer.STOPPED:
        raise Cancelled("the job was cancelled: no linked job is made any more")
    if entry.verdict == LinkAnswer.REFUSED:
        raise REFUSALS.get(result["code"], LeaseholdError)(result["detail"])
    return LinkedJob(result["id"], link.kind, link.child_key)
