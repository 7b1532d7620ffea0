"""State machines: declarations, the states of jobs, and moves, each along an arrow and under a lease."""

from collections.abc import Sequence
from operator import attrgetter

from msgspec import Struct

from leasehold.errors import MachineInvalid
from leasehold.model.effect import Entry
from leasehold.model.machine import Machine, Move
from leasehold.model.names import key_range
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document


class JobState(Struct, frozen=True):
    job_id: int
    key: str
    state: str


class Machines(Noun):
    def publish(self, machine: Machine) -> None:
        """Store a machine. Arrows may be added later; none is removed."""

        def work(session: Session) -> None:
            fields = {"name": machine.name, "initial": machine.initial, "failed": machine.failed}
            found = session.run("machines/publish", **fields, arrows=document(machine.arrows))[0]
            if found != (machine.initial, machine.failed):
                raise MachineInvalid(
                    f"'{machine.name}' is stored in this database with the first state '{found[0]}' and "
                    f"{found[1]!r} for a failed job; give this one another name."
                )

        self._database.transact(work)

    def move(self, moves: Sequence[Move]) -> list[Entry]:
        """Make moves together; those missing in the answer have lost their lease.

        Several moves of one subject are made one after the other: each starts where the one before has led.
        """
        return [Entry(*row) for row in self._database.transact(lambda session: move_all(session, moves))]

    def states(self, job_id: int) -> dict[str, str]:
        """Return the state of a job, under an empty name, and those of its parts; empty without a machine."""
        return dict(self._database.read("machines/states", job=job_id))

    def counts(self, kind: str) -> dict[str, int]:
        return dict(self._database.read("machines/count_states", kind=kind))

    def list_in_state(self, kind: str, prefix: str, after: str, most: int) -> list[JobState]:
        """List the jobs of a kind whose keys start alike, with their states, in the order of keys."""
        low, high = key_range(prefix)
        return self._list(JobState, "machines/list_in_state", kind=kind, low=low, high=high, after=after, most=most)


def move_all(session: Session, moves: Sequence[Move]) -> list[Row]:
    """Make moves in an open transaction: one of each subject and each task, then the next of each, and so on."""
    rows: list[Row] = []
    while moves:
        first, moves = _one_of_each(moves)
        rows += session.run("machines/move", moves=document(first))
    return rows


def _one_of_each(moves: Sequence[Move]) -> tuple[list[Move], list[Move]]:
    """Return the first move of each subject and each task, in the order in which leases are locked, and the others.

    The event of a move is chained to the one before of its task: a statement can make one of each.
    """
    first: list[Move] = []
    later: list[Move] = []
    seen: set[object] = set()
    for move in moves:
        names = {(move.job_id, move.subject), move.task_id}
        (later if names & seen else first).append(move)
        seen |= names  # also of one that comes later: what follows it must not overtake it
    return sorted(first, key=attrgetter("task_id")), later
