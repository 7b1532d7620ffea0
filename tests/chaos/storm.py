"""A storm: real workers and a submitter on a real database, and somebody who strikes them. `ending.py` judges it."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

from tests.chaos.figures import Fault, Outage
from tests.chaos.workers import StormProcess, StormProcesses
from tests.support.apps.chaos import NARROW, make_app
from tests.support.db import connected, rows
from tests.support.oracle.triggers import install_audit_triggers
from tests.support.oracle.witness import Journal
from tests.support.wait import until

HOLDERS = "SELECT DISTINCT worker.pid FROM lease JOIN worker ON worker.id = lease.worker"
# Leases of queues without a limit: what is taken back from a limited one waits for a place, not for a worker.
HELD = (
    "SELECT count(*) FROM lease JOIN worker ON worker.id = lease.worker JOIN task ON task.id = lease.task_id"
    " WHERE task.queue <> 'narrow' AND worker.pid = {}"
)
TAKEN = (
    "SELECT count(*) FROM event JOIN worker ON worker.id = event.worker JOIN task ON task.id = event.task_id"
    " WHERE event.name = 'reclaimed' AND task.queue <> 'narrow' AND worker.pid = {}"
)
REST_SECONDS = 300
CLAIM_SECONDS = 4.0


def host_clock() -> int:
    """Return the time of this host, which is that of a database on it whose clock nobody has moved."""
    return time.time_ns() // 1_000


def last_until(moment: float) -> None:
    """Let a fault last until a moment of `time.monotonic()`: that is its length, nothing is waited for."""
    until(lambda: time.monotonic() >= moment, timeout=3_600)


class Storm:
    """One run. `lease`: of every task.

    `long`: p99 of re-pickup is held against its bound, and there are some, unless `spared` is a sentence on why there
    need be none. `patient`: relays keep a delivery for their two minutes and not for a few seconds, as in every long
    storm with no other setting. `direct`: the way to the database for those who judge, where the workers' own
    goes through something else.
    """

    def __init__(
        self,
        name: str,
        url: str,
        folder: Path,
        *,
        lease: float = 30.0,
        long: bool = False,
        spared: str = "",
        patient: bool | None = None,
        direct: str | None = None,
    ) -> None:
        self.name = name
        self.url = direct or url
        self.folder = folder
        self.lease = lease
        self.long = long
        self.spared = spared
        environment = {"LEASEHOLD_URL": url, "WORKSHOP_FOLDER": str(folder), "STORM_DIRECT": self.url}
        environment["STORM_LEASE"] = str(lease)
        if not (long if patient is None else patient):
            environment["STORM_CLAIM_SECONDS"] = str(CLAIM_SECONDS)
        self.processes = StormProcesses(folder, environment)
        self.journal = Journal(folder / "witness")
        self.dice = random.Random(name)
        self.faults: Counter[str] = Counter()
        self.moments: list[Fault] = []
        self.outages: list[Outage] = []
        self.has_audit_triggers = False
        self.owed = 0  # re-pickups at least, for the faults so far
        self.now = host_clock
        self.measured: dict[str, float] = {}
        self.started = time.monotonic()
        self._read_to = self._returned = 0

    def prepare(self) -> None:
        """Make the schema, the limited queue and the eye, from a process that is not part of the storm."""
        app = make_app(self.url, self.folder, self.lease)
        app.migrate()
        app.queues.limit("narrow", NARROW)
        app.close()
        with connected(self.url) as connection:
            install_audit_triggers(connection, "sqlite" if self.url.startswith("sqlite") else "postgres")
        self.has_audit_triggers = True

    def begin(self, workers: int, **environment: str) -> None:
        """Start workers and the submitter, and return when the first jobs have ended."""
        self.prepare()
        self.join(workers, **environment)

    def join(self, workers: int, **environment: str) -> None:
        """Start workers and the submitter on what is there."""
        for _ in range(workers):
            self.processes.start_worker(environment)
        self.processes.start_submitter(environment)
        self.progress(5)

    def look(self, statement: str) -> list[tuple]:
        return rows(self.url, statement)

    def returned(self) -> int:
        """Count what has returned, by the witness alone."""
        if self.journal.path.exists():
            with self.journal.path.open("rb") as lines:
                lines.seek(self._read_to)
                added = lines.read()
            whole = added[: added.rfind(b"\n") + 1]
            self._read_to += len(whole)
            self._returned += whole.count(b'["returned"')
        return self._returned

    def progress(self, more: int) -> None:
        """Wait until this much more has returned."""
        enough = self.returned() + more

        def moved() -> bool:
            submitter = self.processes.submitter
            if not submitter.running:
                raise RuntimeError(f"the submitter is gone:\n{submitter.log[-4_000:]}")
            if failures := self.processes.failures():
                raise RuntimeError("\n".join(failures))
            return self.returned() >= enough

        until(moved, timeout=REST_SECONDS, every=0.03)

    def holder(self) -> StormProcess:
        """Wait for a worker that holds leases, and return one by chance."""

        def found() -> list[StormProcess]:
            pids = {pid for (pid,) in self.look(HOLDERS)}
            return [worker for worker in self.processes.workers if worker.pid in pids]

        return self.dice.choice(until(found, timeout=REST_SECONDS, every=0.02))

    def struck(self, what: str, pid: int, at: int | None = None) -> None:
        """Note a fault at this moment: what it takes from its worker is to be picked up soon."""
        self.faults[what] += 1
        self.moments.append(Fault(self.now() if at is None else at, pid))

    def returned_from(self, what: str, since: int, *, is_deadly: bool = False) -> None:
        """Note that until this moment nobody could pick up anything; `is_deadly`: and that no lease outlived it."""
        self.faults[what] += 1
        self.moments.append(Fault(since, 0, is_deadly))
        self.outages.append(Outage(since, self.now()))

    def taken_from(self, pid: int) -> int:
        """Count the leases that were taken back from a worker."""
        return int(self.look(TAKEN.format(pid))[0][0])

    def kill_holder(self) -> StormProcess:
        """Kill workers until one had leases in hand, each replaced at once; return that one. It owes a re-pickup."""
        while True:
            worker = self.holder()
            at = self.now()
            worker.kill()
            self.faults["SIGKILL"] += 1
            self.moments.append(Fault(at, worker.pid, took_us=self.now() - at))
            self.processes.replace(worker)
            if self.look(HELD.format(worker.pid))[0][0] or self.taken_from(worker.pid):
                self.owed += 1
                return worker

    def close(self) -> None:
        """End every process."""
        self.processes.close()
