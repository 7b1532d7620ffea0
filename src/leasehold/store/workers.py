"""Worker processes: who they are, and the one query that an idle one makes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final, Literal

from msgspec import Struct, json, structs

from leasehold import clock
from leasehold.model.failure.loss import LostLease
from leasehold.model.limits import CONVICTED_MAX, SWEEP_MAX, WORKERS_MAX
from leasehold.model.owner import Owner
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document
from leasehold.store.db.limits import MANUAL_OWNER_USED_SECONDS, WORKER_KEPT_SECONDS, WORKERS_PRUNED_MAX


class PulseQuery(Struct, frozen=True):
    """What a worker asks. `wants_work`: whether it would claim; `since`: expiries before this were swept."""

    worker: int = 0
    queues: str = "[]"
    routes: str = "[]"
    providers: str = "[]"
    wants_work: bool = False
    since: int = 0
    boot: str = ""
    namespace: str = ""


class Neighbour(Struct, frozen=True):
    """Another worker process of this boot and namespace."""

    worker: int
    pid: int
    birth: int
    pending_file: str | None = None


class Pulse(Struct, frozen=True):
    """The answer: everything there is to do, from one statement.

    `suspects`: routes that have some ready, with their losses; `crashed`: the latest dead letter of a lost worker.
    """

    now: int
    unsettled: bool
    due_at: int | None
    expired: bool
    ready: bool
    branched: bool
    suspects: frozenset[tuple[str, int]]
    crashed: int | None
    limited: dict[str, int]
    cancels: list[tuple[int, int, str]]
    neighbours: list[Neighbour]
    delivery_due_at: int | None = None
    deliveries_inconsistent: bool = False
    deadline_at: int | None = None


class Serving(Struct, frozen=True):
    """What a worker serves: queues with its own caps, routes that it has handlers for, and how much at once."""

    queues: Mapping[str, int | None]
    routes: Sequence[str]
    concurrency: int


NOTHING: Final = Serving({}, (), 0)  # an orchestrator or a relay


class RegisteredWorker(Struct, frozen=True):
    """A worker process that has not ended, as far as the database knows, and its live leases by queue.

    `serving` is None for one of a version that did not publish it.
    """

    id: int
    owner: Owner
    started_at: int
    seen_at: int | None
    serving: Serving | None
    running: Mapping[str, int]


class Workers(Noun):
    def register(self, owner: Owner, serving: Serving = NOTHING, pending_file: str | None = None) -> int:
        """Add a worker process and return its number; rows of long ago go, so that starts do not add up.

        `pending_file` names the file in which it lists what it has claimed and not begun.
        """
        queues, routes = json.encode(dict(serving.queues)).decode(), document(sorted(serving.routes))
        fields = {**asdict(owner), "queues": queues, "routes": routes, "concurrency": serving.concurrency}
        old = {"kept": clock.microseconds(WORKER_KEPT_SECONDS), "most": WORKERS_PRUNED_MAX}
        return int(self._database.write("workers/register", **fields, **old, pending_file=pending_file)[0][0])

    def seen(self, worker: int) -> None:
        """Note that a worker is alive."""
        self._database.write("workers/seen", worker=worker)

    def all(self) -> list[RegisteredWorker]:
        """List the workers that have not ended. One that was killed is among them until another finds it gone."""
        return self._database.read_transaction(list_workers)

    def register_manual(self, owner: str) -> int:
        kept = clock.microseconds(MANUAL_OWNER_USED_SECONDS)
        return int(self._database.write("workers/register_manual", owner=owner, kept=kept)[0][0])

    def deregister(self, workers: Sequence[int]) -> None:
        self._database.write("workers/deregister", workers=document(workers))

    def reclaim_deliveries(self, worker: int) -> int:
        """Give back at once what a worker process that is gone had claimed of the outbox; return how many."""
        return len(self._database.write("deliveries/reclaim", worker=worker))

    def pulse(self, query: PulseQuery) -> Pulse:
        *row, deadline_at = self._database.read("workers/pulse", **structs.asdict(query))[0]
        now, unsettled, due_at, expired, ready, branched, suspects, crashed, *row = row
        limited, cancels, neighbours, *deliveries = row
        return Pulse(
            now=now,
            unsettled=bool(unsettled),
            due_at=due_at,
            expired=bool(expired),
            ready=bool(ready),
            branched=bool(branched),
            suspects=frozenset((route, losses) for route, losses in json.decode(suspects)),
            crashed=crashed,
            limited=dict(json.decode(limited)),
            cancels=[(task_id, fence, reason) for task_id, fence, reason in json.decode(cancels)],
            neighbours=[Neighbour(*row) for row in json.decode(neighbours)],
            delivery_due_at=deliveries[0],
            deliveries_inconsistent=bool(deliveries[1]),
            deadline_at=deadline_at,
        )


def list_workers(session: Session) -> list[RegisteredWorker]:
    return [_registered(row) for row in session.run("workers/list", most=WORKERS_MAX)]


def _registered(row: Row) -> RegisteredWorker:
    queues, routes, concurrency, running = row[8:]
    serving = None if queues is None else Serving(json.decode(queues), json.decode(routes), concurrency)
    return RegisteredWorker(row[0], Owner(*row[1:6]), row[6], row[7], serving, dict(json.decode(running)))


class Cleared(Struct, frozen=True):
    """A task that is not charged any more for a worker that another killed, and how it stands now."""

    task_id: int
    queue: str
    status: Literal["NEW", "READY", "RUNNING"]


class Losses(Noun):
    """Leases whose worker is lost: which there are, what ran in the same worker, and whose loss it was not."""

    def expired(self, since: int = 0) -> list[LostLease]:
        """List expired leases; `since` skips those of an earlier sweep."""
        rows = self._database.read("losses/expired", since=since, most=SWEEP_MAX)
        return [_lost(row, "expired") for row in rows]

    def of_worker(self, worker: int) -> list[LostLease]:
        """List the leases of a worker that is gone."""
        rows = self._database.read("losses/of_worker", worker=worker, most=100 * SWEEP_MAX)
        return [_lost(row, "owner gone") for row in rows]

    def ran_with(self, task_id: int) -> list[int]:
        """List the tasks that ran in the workers which this one has lost."""
        lists = (json.decode(row[0]) for row in self._database.read("losses/ran_with", task=task_id))
        return sorted({other for others in lists for other in others})

    def convicted(self) -> list[int]:
        """List tasks that were convicted, the latest, while others are charged for workers that they lost with them."""
        return [row[0] for row in self._database.read("losses/convicted", most=CONVICTED_MAX)]

    def clear(self, task_id: int) -> list[Cleared]:
        """Take back what others lost because of a task that was convicted; return each of them."""
        return [Cleared(*row) for row in self._database.write("losses/clear", task=task_id)]


def _lost(row: Row, why: Literal["expired", "owner gone"]) -> LostLease:
    task_id, fence, worker, losses, losses_max = row
    return LostLease(task_id, fence, why, worker=worker, losses=losses, losses_max=losses_max)
