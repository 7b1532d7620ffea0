"""A storm: real workers and a submitter on a real database, and somebody who strikes them. `ending.py` judges it."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

from tests.lab.witness import Journal
from tests.storms.app import NARROW, make_app
from tests.storms.company import Company
from tests.storms.figures import Fault
from tests.storms.nursery import Child
from tests.waiting import until
from tests.workshop.looking import rows

HOLDERS = "SELECT DISTINCT worker.pid FROM lease JOIN worker ON worker.id = lease.worker"
REST_SECONDS = 300


class Storm:
    """One run. `lease`: of every task. `patient`: wait for the claims of dead relays instead of ageing them by hand.

    `direct`: the way to the database for those who judge, where the workers' own goes through something else.
    """

    def __init__(
        self,
        name: str,
        url: str,
        folder: Path,
        *,
        lease: float = 30.0,
        patient: bool = False,
        direct: str | None = None,
    ) -> None:
        self.name = name
        self.url = direct or url
        self.folder = folder
        self.lease = lease
        self.patient = patient
        told = {"LEASEHOLD_URL": url, "WORKSHOP_FOLDER": str(folder)}
        self.company = Company(folder, told | {"STORM_DIRECT": self.url, "STORM_LEASE": str(lease)})
        self.journal = Journal(folder / "witness")
        self.dice = random.Random(name)
        self.faults: Counter[str] = Counter()
        self.moments: list[Fault] = []
        self.measured: dict[str, float] = {}
        self.started = time.monotonic()
        self._read_to = self._returned = 0

    def prepare(self) -> None:
        """Make the schema and the limited queue, from a process that is not part of the storm."""
        app = make_app(self.url, self.folder, self.lease)
        app.migrate()
        app.queues.limit("narrow", NARROW)
        app.close()

    def begin(self, workers: int, **environment: str) -> None:
        """Start workers and the submitter, and return when the first jobs have ended."""
        self.prepare()
        self.join(workers, **environment)

    def join(self, workers: int, **environment: str) -> None:
        """Start workers and the submitter on what is there."""
        for _ in range(workers):
            self.company.hire(environment)
        self.company.hire_submitter(environment)
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
            submitter = self.company.submitter
            if not submitter.running:
                raise RuntimeError(f"the submitter is gone:\n{submitter.log[-4_000:]}")
            return self.returned() >= enough

        until(moved, timeout=REST_SECONDS, every=0.03)

    def holder(self) -> Child:
        """Wait for a worker that holds leases, and return one by chance."""

        def found() -> list[Child]:
            pids = {pid for (pid,) in self.look(HOLDERS)}
            return [hand for hand in self.company.workers if hand.pid in pids]

        return self.dice.choice(until(found, timeout=REST_SECONDS, every=0.02))

    def struck(self, what: str, pid: int = 0) -> None:
        """Note a fault at this moment: what it takes from its worker is to be picked up soon."""
        self.faults[what] += 1
        self.moments.append(Fault(time.time_ns() // 1_000, pid))

    def close(self) -> None:
        """End every process."""
        self.company.close()
