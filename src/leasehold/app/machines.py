"""The façade's noun `app.machine`: state machines that jobs of a kind go through."""

from collections.abc import Iterable, Iterator, Mapping

from leasehold.app.ready_store import Operations
from leasehold.model.limits import PAGE_MAX
from leasehold.model.machine import Machine, make_machine
from leasehold.model.names import check_key, check_name
from leasehold.store.machines import JobState


class MachineOperations(Operations):
    """Declares state machines: `app.machine("parcel", {"PACKED": "SENT", "SENT": ["ARRIVED", "LOST"]}, initial=…)`."""

    def __call__(
        self, name: str, arrows: Mapping[str, str | Iterable[str]], *, initial: str, failed: str | None = None
    ) -> Machine:
        """Declare the states that jobs of a kind go through, and the allowed transitions.

        Pass it to the kind as `machine=`; its handlers then move with `task.advance(state)`. A job begins in `initial`,
        and one that ended in ERROR is shown as `failed`. The database stores the transitions and refuses all others.
        """
        return make_machine(check_name(name, "machine"), arrows, initial=initial, failed=failed)

    def counts(self, kind: str) -> dict[str, int]:
        """Count the jobs of a kind by state."""
        return self._store.machines.counts(check_name(kind, "kind"))

    def jobs(self, kind: str, *, prefix: str = "") -> Iterator[JobState]:
        """Yield every job of a kind whose key starts with `prefix`, with its state, in the order of keys."""
        check_name(kind, "kind")
        if prefix:
            check_key(prefix, "prefix")
        listing, after = self._store.machines.list_in_state, ""
        while page := listing(kind, prefix, after, PAGE_MAX):
            yield from page
            after = page[-1].key
