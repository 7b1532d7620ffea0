"""Worker processes: who they are, and the one query that an idle one makes."""

from collections.abc import Sequence
from dataclasses import asdict

from msgspec import Struct, json, structs

from leasehold.model.owner import Owner
from leasehold.store.db.database import Noun
from leasehold.store.db.documents import document


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


class Pulse(Struct, frozen=True):
    """The answer: everything there is to do, from one statement."""

    now: int
    unsettled: bool
    due_at: int | None
    expired: bool
    ready: bool
    branched: bool
    limited: dict[str, int]
    cancels: list[tuple[int, int, str]]
    neighbours: list[Neighbour]
    delivery_due_at: int | None = None
    deliveries_inconsistent: bool = False


class Workers(Noun):
    def register(self, owner: Owner) -> int:
        return int(self._database.write("workers/register", **asdict(owner))[0][0])

    def register_manual(self, owner: str) -> int:
        return int(self._database.write("workers/register_manual", owner=owner)[0][0])

    def deregister(self, workers: Sequence[int]) -> None:
        self._database.write("workers/deregister", workers=document(workers))

    def pulse(self, query: PulseQuery) -> Pulse:
        row = self._database.read("workers/pulse", **structs.asdict(query))[0]
        now, unsettled, due_at, expired, ready, branched, limited, cancels, neighbours, delivery_due_at, suspects = row
        return Pulse(
            now=now,
            unsettled=bool(unsettled),
            due_at=due_at,
            expired=bool(expired),
            ready=bool(ready),
            branched=bool(branched),
            limited=dict(json.decode(limited)),
            cancels=[(task_id, fence, reason) for task_id, fence, reason in json.decode(cancels)],
            neighbours=[Neighbour(*row) for row in json.decode(neighbours)],
            delivery_due_at=delivery_due_at,
            deliveries_inconsistent=bool(suspects),
        )
