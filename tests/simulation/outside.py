"""The outside world of a simulation: what effects act upon and messages are sent to. It remembers everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leasehold.model.delivery import Absent, Message, NotSent, Refused, Sent, Unknown
from leasehold.runtime.task import Task
from tests.simulation.sessions import File
from tests.simulation.world import World
from tests.support.oracle.witness import Witness


class Outside:
    """Accounts that effects book on, by the effect's key."""

    def __init__(self, world: World, file: File, witness: Witness) -> None:
        self._world = world
        self._file = file
        self._witness = witness
        self.booked: dict[str, Any] = {}
        self._calls: dict[str, int] = {}

    def is_live(self, task_id: int, fence: int) -> bool:
        """Whether a lease stands at this moment, by the tables themselves."""
        query = "SELECT 1 FROM lease WHERE task_id = ? AND fence = ? AND expires_at > ?"
        return bool(self._file.look(query, (task_id, fence, self._world.now)))

    def act(self, task: Task, kind: str) -> Callable[[str], Any]:
        """Return an act that books under its key; each call has another receipt, so that no two results are equal."""

        def book(key: str) -> Any:
            self._world.at("act", f"before {kind}")
            call = self._calls[key] = self._calls.get(key, 0) + 1
            result = self.booked[key] = {"receipt": f"{key[:8]}-{call}"}
            live = self.is_live(task.lease.task_id, task.lease.fence)
            self._witness.saw("acted", kind, key, task.lease.task_id, task.lease.fence, live, result)
            self._world.at("act", f"after {kind}")
            return result

        return book

    def lookup(self, task: Task) -> Callable[[str], Any]:
        """Return a look-up of what is booked under a key."""

        def find(key: str) -> Any:
            self._world.at("act", "look-up")
            found = self.booked.get(key)
            self._witness.saw("looked", key, task.lease.task_id, task.lease.fence, found)
            return found

        return find


class OutgoingMessage:
    """A provider: an honest one reports what it has, a mute one cannot, a shaky one fails before or after taking it."""

    def __init__(self, world: World, file: File, witness: Witness, temper: str) -> None:
        self._world = world
        self._file = file
        self._witness = witness
        self._temper = temper
        self._taken: dict[str, str] = {}
        self._tries: dict[str, int] = {}

    def send(self, message: Message) -> Sent:
        self._world.at("act", "before send")
        tries = self._tries[message.token] = self._tries.get(message.token, 0) + 1
        if self._temper == "strict":
            raise Refused("no such recipient")
        if self._temper == "shaky" and tries == 1:
            raise NotSent("try again", retry_after=2)
        self._taken[message.token] = f"id-{message.token[:8]}-{tries}"
        fence = self._fence()
        self._witness.saw("sent", message.token, fence, self._is_live(message, fence), self._taken[message.token])
        self._world.at("act", "after send")
        if self._temper == "shaky" and tries == 2:
            raise ConnectionResetError
        return Sent(self._taken[message.token])

    def _fence(self) -> int:
        """The claim under which the one who runs now carries its message: it is named after it."""
        return int(self._world.running.name.partition("#")[2])

    def _is_live(self, message: Message, fence: int) -> bool:
        query = "SELECT 1 FROM delivery WHERE subject = ? AND recipient = ? AND fence = ? AND due_at > ?"
        values = (message.subject, message.recipient, fence, self._world.now)
        return bool(self._file.look(query, values))

    def find(self, message: Message, notification_id: str | None) -> Sent | Absent | Unknown:
        self._world.at("act", "find")
        if self._temper == "mute":
            return Unknown("nobody knows")
        found = self._taken.get(message.token)
        self._witness.saw("traced", message.token, self._fence(), found)
        return Sent(found) if found else Absent()
