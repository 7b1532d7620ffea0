"""Virtual processes made of the engine's own parts: claimer, committer, heartbeat, upkeep, courier, attempts.

Their threads are never started: actors call what the threads would call, so every decision is the engine's and only the
waiting is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from leasehold import clock
from leasehold.errors import LeaseholdError
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.lease import Settlement
from leasehold.model.owner import Owner
from leasehold.runtime.attempt import Attempt, State
from leasehold.runtime.claimer import Claimer
from leasehold.runtime.committer import Committer
from leasehold.runtime.courier import Carrier, Courier
from leasehold.runtime.handlers import Handler
from leasehold.runtime.heartbeat import Heartbeat
from leasehold.runtime.holdings import Holdings
from leasehold.runtime.identity import this_process
from leasehold.runtime.notices import Notices
from leasehold.runtime.upkeep import Upkeep
from leasehold.store import Store
from leasehold.store.workers import Pulse
from tests.simulation.sessions import File
from tests.simulation.world import Killed, Process, World

CONCURRENCY = 2
UPKEEP_PACE = 5
HEARTBEAT_SECONDS = 5.0
RELAY_SECONDS = 6.0
DELIVERY_LEASE = 120.0
OWNER = this_process()


class Reply:
    """The committer's answer to one entry, awaited by an actor."""

    loop = None

    def __init__(self) -> None:
        self.value: Entry | BaseException | None = None

    def answer(self, value: Entry | BaseException) -> None:
        self.value = value


class Ledger:
    """The way of an attempt's effects to the committer."""

    def __init__(self, worker: Worker, attempt: Attempt) -> None:
        self._worker = worker
        self._attempt = attempt

    def enter(self, item: Intent | Record) -> Entry:
        reply = Reply()
        self._worker.committer.ask(self._attempt, item, reply)  # type: ignore[arg-type]
        self._worker.world.wait(lambda: reply.value is not None)
        if isinstance(reply.value, BaseException):
            raise reply.value
        assert reply.value is not None
        return reply.value

    async def enter_async(self, item: Intent | Record) -> Entry:
        raise NotImplementedError

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        return self._worker.store.effects.transact(intent, act)


class Line:
    """How a running attempt speaks to its process."""

    def __init__(self, worker: Worker, attempt: Attempt) -> None:
        self._worker = worker
        self._attempt = attempt
        self._ledger = Ledger(worker, attempt)

    @property
    def ledger(self) -> Ledger:
        return self._ledger

    def inputs(self) -> dict[str, Any]:
        return self._worker.store.stages.inputs(self._attempt.lease.task_id)

    def note(self, progress: str) -> None:
        raise NotImplementedError

    @property
    def cancelled(self) -> bool:
        return self._attempt.cancel_reason is not None

    @property
    def lost(self) -> bool:
        return self._attempt.state is not State.RUNNING


class Worker:
    """A worker process with relay, from its registration to its death."""

    def __init__(
        self,
        world: World,
        file: File,
        number: int,
        owner: Owner,
        handlers: Mapping[str, Handler],
        queues: list[str],
        carriers: Mapping[str, Carrier],
        see: Callable[[str, Attempt, object], None],
    ) -> None:
        self.world = world
        self.file = file
        self.process = Process(f"w{number}")
        self.store: Store = file.store(self.process)
        self.holdings = Holdings(CONCURRENCY, dict.fromkeys(queues))
        self.notices = SILENT
        self.see = see
        self._owner = owner
        self._handlers = handlers
        self._queues = queues
        self._carriers = carriers
        self._id = 0
        self._is_awake = True
        self.committer = Committer(self.store, self.holdings, self.notices, lambda: None)
        self._heartbeat = Heartbeat(self.store, self.holdings, self.notices)
        self._courier = Courier(self.store, carriers, self.notices)
        world.spawn(self.process, "start", self._start)
        self.process.on_death = self._on_death

    def _start(self) -> None:
        self._id = self.store.workers.register(self._owner)
        claimer = Claimer(
            self.store, self._id, self._handlers, self._queues, self.holdings, self.committer, self.notices, self._begin
        )
        upkeep = Upkeep(
            self.store,
            self._id,
            self._owner,
            self.notices,
            queues=self._queues,
            routes=self._handlers,
            providers=self._carriers,
            on_pulse=lambda pulse: self._heed(pulse, claimer),
            on_ready=lambda _: self._wake(),
            wants_work=lambda: True,
        )
        loops: dict[str, Callable[[], float]] = {
            "claimer": lambda: self._claim(claimer),
            "upkeep": lambda: upkeep.beat() * UPKEEP_PACE,
            "heartbeat": self._beat,
        }
        if self._carriers:
            loops["relay"] = self._carry
        for name, step in loops.items():
            self.world.spawn(self.process, name, partial(self._loop, step))
        self.world.spawn(self.process, "committer", self._commit)

    def _loop(self, step: Callable[[], float]) -> None:
        while True:
            try:
                pause = step()
            except LeaseholdError:  # as the threads do: told, and tried again
                pause = 1.0
            self.world.sleep(pause)

    def _claim(self, claimer: Claimer) -> float:
        self.world.wait(lambda: self._is_awake and self.holdings.room.free() > 0)
        self._is_awake = claimer.claim(self.holdings.room.free()) > 0
        return 0.01

    def _wake(self) -> None:
        """A hint that there is work: it may get lost, and one may come without a reason."""
        self._is_awake = not self.world.choices.draw(2, self.world.faults)

    def _beat(self) -> float:
        self._heartbeat.renew()
        self._heartbeat.watch()
        return HEARTBEAT_SECONDS

    def _commit(self) -> None:
        while True:
            self.world.wait(lambda: self.committer.has_work)
            self.committer.write()

    def _carry(self) -> float:
        """One pass of a relay; each message is carried by an actor of its own."""
        for name in self._carriers:
            asked_at = clock.uptime()
            for taken in self.store.deliveries.claim(name, DELIVERY_LEASE, 2):
                deadline = asked_at + clock.microseconds(DELIVERY_LEASE * 0.75)
                label = f"courier {taken.id}#{taken.fence}"
                self.world.spawn(self.process, label, partial(self._courier.carry, taken, partial(_before, deadline)))
        return RELAY_SECONDS

    def _heed(self, pulse: Pulse, claimer: Claimer) -> None:
        claimer.know_limits(frozenset(pulse.limited))
        if pulse.ready or self.world.choices.draw(2, self.world.faults):
            self._wake()
        for task_id, fence, reason in pulse.cancels:
            attempt = self.holdings.get(task_id, fence)
            if attempt is not None:
                attempt.cancel_reason = reason

    def _begin(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            name = f"task {attempt.lease.task_id}#{attempt.lease.fence}"
            self.world.spawn(self.process, name, partial(self._run, attempt))

    def _run(self, attempt: Attempt) -> None:
        if not attempt.begin():
            self.holdings.drop(attempt)
            self.holdings.leave(attempt)
            return
        self.see("began", attempt, None)
        settlement = self._call(attempt)
        self.holdings.leave(attempt)
        if attempt.end():
            self.committer.settle(attempt, settlement)
        else:
            self.holdings.drop(attempt)

    def _call(self, attempt: Attempt) -> Settlement:
        try:
            result = attempt.call(lambda one: Line(self, one))
            self.see("returned", attempt, result)
            return attempt.succeed(result)
        except Killed:
            raise
        except BaseException as error:  # noqa: BLE001 — as in the runner
            return attempt.fail(error)

    def _on_death(self) -> None:
        """What the kernel tells of a process that is gone; and its connections are closed."""
        self.store.close()
        if self._id:
            self.file.bury(self._id)


def _before(deadline: int) -> bool:
    return clock.uptime() < deadline


class _Silent(Notices):
    """Says nothing: a simulation makes more lines than anybody reads."""

    def __getattribute__(self, name: str) -> Any:
        return _nothing


def _nothing(*_: object, **__: object) -> None:
    return


SILENT = _Silent()
