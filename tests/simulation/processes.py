"""Virtual processes made of the engine's own parts: claimer, committer, heartbeat, upkeep, relay, courier, attempts.

Their threads are never started: actors call what the threads would call, so every decision is the engine's and only the
waiting is ours. Wake-ups take the way they take between real processes, over a notifier and listeners of ours.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from leasehold.errors import LeaseholdError
from leasehold.model.delivery import Absent, Message, Provider, Sent, Unknown
from leasehold.model.effect import Entry, Intent, Record
from leasehold.model.failure.loss import ChildCrash, convict
from leasehold.model.lease import Settlement, failed
from leasehold.model.limits import CLAIM_MAX
from leasehold.model.owner import Owner
from leasehold.runtime.attempt import Attempt, Interruption, State
from leasehold.runtime.claim.claimer import Claimer
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.claim.pending_file import PendingFile
from leasehold.runtime.commit.committer import Committer
from leasehold.runtime.commit.requests import AnyReply, CommitChannel, Item, run_blocking
from leasehold.runtime.deliver.relay import HeldDelivery, Relay
from leasehold.runtime.deliver.sender import RegisteredProvider
from leasehold.runtime.handlers import Handler
from leasehold.runtime.limits import DELIVERY_RENEW_SECONDS
from leasehold.runtime.maintain.heartbeat import Heartbeat
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.runtime.observe.events import EventLog
from leasehold.runtime.process_identity import this_process
from leasehold.store import Store
from leasehold.store.workers import Pulse
from tests.simulation.sessions import File, announce_free
from tests.simulation.world import Fault, Killed, Process, World

CONCURRENCY = 2
UPKEEP_PACE = 5
HEARTBEAT_SECONDS = 5.0
AGAIN_SECONDS = 1.0
OWNER = this_process()


class Reply:
    """The committer's answer to one entry, awaited by an actor."""

    loop = None

    def __init__(self) -> None:
        self.value: Entry | BaseException | None = None

    def answer(self, value: Entry | BaseException) -> None:
        self.value = value


class SimulatedChannel(CommitChannel):
    """How a running attempt reaches its process, and its effects the committer."""

    def __init__(self, worker: Worker, attempt: Attempt) -> None:
        self._worker = worker
        self._attempt = attempt

    def commit(self, item: Item, reply: AnyReply) -> None:
        raise NotImplementedError

    def hand_over(self, item: Item) -> Callable[[], Entry]:
        reply = Reply()
        self._worker.committer.commit(self._attempt, item, reply)  # type: ignore[arg-type]
        return partial(self._wait, reply)

    def _wait(self, reply: Reply) -> Entry:
        self._worker.world.wait(lambda: reply.value is not None)
        if isinstance(reply.value, BaseException):
            raise reply.value
        assert reply.value is not None
        return reply.value

    def transact(self, intent: Intent, act: Callable[[object], Record]) -> Entry:
        return self._worker.store.effects.transact(intent, act)

    def inputs(self) -> dict[str, Any]:
        return self._worker.store.stages.inputs(self._attempt.lease.task_id)

    def report_progress(self, progress: str) -> None:
        raise NotImplementedError

    stopping = False

    @property
    def cancelled(self) -> bool:
        return self._attempt.interruption is not None

    @property
    def interrupted(self) -> bool:
        return self._attempt.interruption is not None

    @property
    def lost(self) -> bool:
        return self._attempt.state is not State.RUNNING


class Looking(Claimer):
    """A claimer that looks when an actor has it look. `echo`: a wake-up that will come a second time, later."""

    echo = False

    def notify(self, times: int) -> None:
        """Get a wake-up: lost, once, or twice."""
        if times:
            self.wake()
        self.echo = self.echo or times > 1

    def wants(self) -> bool:
        """Whether it was woken and there is room."""
        return self._awake.is_set() and self._held.capacity.free() > 0

    def look(self) -> None:
        """Claim once; it sleeps after it has found nothing, and queues take turns while there is something."""
        self._awake.clear()
        try:
            found = self.claim_suspects() or self.claim(min(self._held.capacity.free(), CLAIM_MAX))
        except LeaseholdError:
            self.wake()
            raise
        if found:
            self._queues.append(self._queues.pop(0))
        if found or self.echo:
            self.echo = self.echo and found > 0
            self.wake()


class SimulatedRelay(Relay):
    """A relay that makes a pass when an actor has it do so."""

    def wants(self) -> bool:
        """Whether it knows of deliveries that are due."""
        return self._due.is_set()


class Minding:
    """A provider that minds under which claim it is asked to send, and under which it takes the message.

    A relay begins to send under a claim that stands, unless the database's clock has jumped since it was taken; and the
    claim still stands when the message is taken, unless something kept the relay from renewing it.
    """

    def __init__(self, worker: Worker, provider: Provider) -> None:
        self._worker = worker
        self._world = worker.world
        self._provider = provider

    def find(self, message: Message, notification_id: str | None) -> Sent | Absent | Unknown:
        self._world.at("post", "look-up")
        return self._provider.find(message, notification_id)

    def send(self, message: Message) -> Sent:
        self._check_claim("began to send")
        self._world.at("post", "send")
        if not self._was_held_up():
            self._check_claim("sent")
        return self._provider.send(message)

    def _check_claim(self, action: str) -> None:
        actor = self._world.running
        query = "SELECT 1 FROM delivery WHERE id = ? AND fence = ? AND due_at > ? AND status = 'sending'"
        claim = actor.name.removeprefix("courier ").split("#")
        lead, _ = self._worker.begun[actor.name]
        # By the clock as it was last written: one that is put right when faults stop has jumped for the next reader.
        now = self._world.uptime + (lead or 0)
        if self._world.lead == lead and not self._worker.file.look(query, (*claim, now)):
            self._world.wrongs.append(f"S14: {actor.label} {action} under a claim that was gone or not begun")

    def _was_held_up(self) -> bool:
        """Whether the relay could not renew: all slept, somebody was paused (writing, maybe), or it waited."""
        actor = self._world.running
        _, first = self._worker.begun[actor.name]
        return any(
            what.startswith((Fault.ASLEEP, Fault.PAUSE)) or who == f"{actor.process.name}.relay"
            for _, who, what in self._world.trace[first:]
        )


class Worker:
    """A worker process with relay, from its registration to its death."""

    concurrency = CONCURRENCY

    def __init__(
        self,
        world: World,
        file: File,
        number: int,
        owner: Owner,
        handlers: Mapping[str, Handler],
        queues: list[str],
        providers: Mapping[str, RegisteredProvider],
        see: Callable[[str, Attempt, object], None],
    ) -> None:
        self.world = world
        self.file = file
        self.process = Process(f"w{number}")
        self.store: Store = file.store(self.process)
        self.pending = PendingFile(self.concurrency)
        self.held = HeldAttempts(self.concurrency, dict.fromkeys(queues), self.pending)
        self.events = SILENT
        self.see = see
        self._owner = owner
        self._handlers = handlers
        self._queues = queues
        self._providers = providers
        self._id = 0
        self.committer = Committer(self.store, self.held, self.events, lambda: None)
        self._heartbeat = Heartbeat(self.store, self.held, self.events)
        self.begun: dict[str, tuple[int | None, int]] = {}  # the clock's lead and the faults before each claim
        self._before: tuple[int | None, int] = (None, 0)
        minding = {name: replace(one, provider=Minding(self, one.provider)) for name, one in providers.items()}
        self._relay = SimulatedRelay(self.store, minding, self.events, 0, launch=self._launch) if providers else None
        world.spawn(self.process, "start", self._start)
        self.process.on_death = self._on_death

    def _start(self) -> None:
        self.pending.name = f"pending of {self.process.name}"
        self.file.pending[self.pending.name] = self.pending
        self._id = self.store.workers.register(self._owner, pending_file=self.pending.name)
        if self._relay is not None:
            self._relay.worker = self._id
        claimer = Looking(
            self.store, self._id, self._handlers, self._queues, self.held, self.committer, self.events, self._begin
        )
        claimer.wake()
        self._suspects = claimer.suspects
        self.file.listeners[self.process] = lambda words, times: claimer.notify(
            times if words & set(self._queues) else 0
        )
        upkeep = Upkeep(
            self.store,
            self._id,
            self._owner,
            self.events,
            queues=self._queues,
            routes=self._handlers,
            providers=self._providers,
            on_pulse=lambda pulse: self._on_pulse(pulse, claimer),
            on_ready=lambda queues: self._announce(queues, claimer),
            wants_work=lambda: claimer.idle,
            read_pending=self.file.read_pending,
        )
        loops: dict[str, Callable[[], float]] = {
            "claimer": lambda: self._claim(claimer),
            "upkeep": lambda: self._keep_up(upkeep),
            "heartbeat": self._beat,
        }
        if self._relay is not None:
            loops["relay"] = partial(self._deliver, self._relay)
        for name, step in loops.items():
            self.world.spawn(self.process, name, partial(self._loop, step))
        self.world.spawn(self.process, "committer", self._commit)

    def _loop(self, step: Callable[[], float]) -> None:
        while True:
            try:
                pause = step()
            except LeaseholdError:  # as the threads do: reported, and tried again
                pause = AGAIN_SECONDS
            if pause:
                self.world.sleep(pause)

    def _claim(self, claimer: Looking) -> float:
        self.world.wait(claimer.wants)
        claimer.look()
        return 0.0

    def _keep_up(self, upkeep: Upkeep) -> float:
        announce_free(self.world)
        return upkeep.poll_once() * UPKEEP_PACE

    def _beat(self) -> float:
        self._heartbeat.renew()
        self._heartbeat.watch()
        return HEARTBEAT_SECONDS

    def _commit(self) -> None:
        while True:
            self.world.wait(self.committer.has_work)
            self.committer.write()

    def _deliver(self, relay: SimulatedRelay) -> float:
        self.world.wait(relay.wants, DELIVERY_RENEW_SECONDS)
        self._before = (self.world.lead, len(self.world.trace))
        relay.poll_once()
        return 0.0

    def _launch(self, held: HeldDelivery, send: Callable[[], None]) -> None:
        """Have an actor carry a message; its name holds the claim."""
        name = f"courier {held.taken.id}#{held.taken.fence}"
        self.begun[name] = self._before
        self.world.spawn(self.process, name, send)

    def _on_pulse(self, pulse: Pulse, claimer: Looking) -> None:
        claimer.set_limits(frozenset(pulse.limited))
        claimer.on_suspects(pulse.suspects)
        for task_id, fence, _ in pulse.cancels:
            attempt = self.held.get(task_id, fence)
            if attempt is not None:
                attempt.interrupt(Interruption.CANCELLED)
        if pulse.ready:
            claimer.wake()
        if self._relay is not None:
            self._relay.on_pulse(pulse)

    def _announce(self, queues: set[str], claimer: Looking) -> None:
        if queues & set(self._queues):
            claimer.wake()
        self.store.wake(queues)

    def _begin(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            name = f"task {attempt.lease.task_id}#{attempt.lease.fence}"
            self.world.spawn(self.process, name, partial(self._run, attempt))

    def _run(self, attempt: Attempt) -> None:
        run_blocking(attempt.run(self))

    def call(self, attempt: Attempt) -> Any:
        self.held.begin(attempt)
        self.see("began", attempt, None)
        if attempt.lease.is_suspect and attempt.lease.task_id % 2:
            attempt.isolated = True  # and the process that it was isolated in died
            return failed(attempt.lease, convict(ChildCrash(-signal.SIGKILL), attempt.lease.losses, []))
        result = attempt.call(lambda attempt: SimulatedChannel(self, attempt))
        self.see("returned", attempt, result)
        return result

    def settle(self, attempt: Attempt, end: Settlement | None) -> None:
        if self.process.is_dead:  # what ended the handler was the end of its process
            raise Killed
        assert end is not None
        self.held.free_slot(attempt)
        if attempt.lease.is_suspect:
            self._suspects.on_end(end)
        if attempt.end():
            self.committer.settle(attempt, end)
        else:
            self.held.drop(attempt)

    def skip(self, attempt: Attempt) -> None:
        attempt.lose()
        self.held.drop(attempt)
        self.held.free_slot(attempt)

    def _on_death(self) -> None:
        """What the kernel does with a process that is gone: its connections are closed."""
        self.file.listeners.pop(self.process, None)
        self.store.close()
        if self._id:
            self.file.bury(self._id)


class _Silent(EventLog):
    """Logs nothing: a simulation makes more lines than anybody reads."""

    def __getattribute__(self, name: str) -> Any:
        return _nothing


def _nothing(*_: object, **__: object) -> None:
    return


SILENT = _Silent()
