"""What jobs that kill their worker cost all others, in simulated time: no other program on the machine changes it."""

import signal
from collections.abc import Callable, Mapping

import pytest

from leasehold.model.failure.loss import ChildCrash, convict
from leasehold.model.lease import done, failed
from leasehold.model.retry import Retry
from leasehold.model.task import Submission, Terms
from leasehold.runtime.attempt import Attempt
from leasehold.runtime.ending import judge
from leasehold.runtime.handlers import Handler, make_handler
from leasehold.runtime.maintain.upkeep import Upkeep
from leasehold.store import Store
from tests.simulation.processes import OWNER, Worker
from tests.simulation.sessions import File
from tests.simulation.shrink import Choices
from tests.simulation.world import SECOND, Killed, Process, World
from tests.support.uptime import simulated_uptime

JOBS, POISON = 200, 3
WORK_SECONDS = 20.0  # that the jobs take alone
START_SECONDS = 0.5  # until there is a worker again when one has died
CHILD_SECONDS = 0.3  # until there is a process for one isolated attempt
RETRY = Retry(attempts=5)


def innocent(): ...


def deadly(): ...


class PoisonedWorker(Worker):
    """A worker whose jobs sleep or kill it. A suspect runs in a process of its own, as an isolated kind does."""

    def __init__(
        self, world: World, file: File, number: int, handlers: Mapping[str, Handler], concurrency: int
    ) -> None:
        self.concurrency = concurrency
        self._seconds = WORK_SECONDS * concurrency / JOBS
        super().__init__(world, file, number, OWNER, handlers, ["default"], {}, lambda *_: None)

    def call(self, attempt: Attempt) -> object:
        self.held.begin(attempt)
        if attempt.isolated:
            self.world.sleep(CHILD_SECONDS)
        if attempt.lease.kind == "innocent":
            self.world.sleep(self._seconds)
            return done(attempt.lease, "null") if attempt.isolated else None
        if not attempt.isolated:
            self.world.kill(self.process)
            raise Killed
        crash = ChildCrash(-signal.SIGKILL)
        if attempt.lease.is_suspect:
            return failed(attempt.lease, convict(crash, attempt.lease.losses, []))
        return judge(attempt.lease, attempt.handler, crash.failure())

    def _keep_up(self, upkeep: Upkeep) -> float:
        return upkeep.poll_once()


class Round:
    """So many jobs, in worker after worker, to their ends."""

    def __init__(self, file: File, concurrency: int, poison: int, *, isolated: bool) -> None:
        self._file, self._concurrency, self._poison = file, concurrency, poison
        self._world = World(Choices(script=[]), faults=0.0, temper="deaths")
        terms = Terms(attempts_max=RETRY.attempts)
        self._handlers: dict[str, Handler] = {
            "innocent": make_handler("innocent", None, innocent, terms, RETRY, isolated=None),
            "deadly": make_handler("deadly", None, deadly, terms, RETRY, isolated=isolated or None),
        }
        self.workers: list[PoisonedWorker] = []

    def run(self) -> float:
        """Return the seconds from the first submit to the last end."""
        self._file.begin(self._world)
        process = Process("supervisor")
        store = self._file.store(process)
        with simulated_uptime(lambda: self._world.uptime):
            try:
                self._world.spawn(process, "supervisor", lambda: self._supervise(store))
                self._world.run(lambda: self._file.look("SELECT count(*) FROM outcome") == [(JOBS + self._poison,)])
            finally:
                self._world.stop()
                store.close()
        [(begin, end)] = self._file.look("SELECT min(at), (SELECT max(finished_at) FROM outcome) FROM event")
        return float((end - begin) / SECOND)

    def _supervise(self, store: Store) -> None:
        terms = self._handlers["innocent"].terms
        every = JOBS // max(self._poison, 1)
        jobs = [Submission("innocent", f"innocent-{number}", "{}", terms) for number in range(JOBS)]
        for number in range(self._poison):
            jobs.insert((number + 1) * every, Submission("deadly", f"deadly-{number}", "{}", terms))
        store.tasks.submit(jobs)
        while True:
            number = len(self.workers)
            worker = PoisonedWorker(self._world, self._file, number, self._handlers, self._concurrency)
            self.workers.append(worker)
            self._world.wait(_dies(worker))
            self._file.write_deaths()
            self._world.sleep(START_SECONDS)


def _dies(worker: Worker) -> Callable[[], bool]:
    return lambda: worker.process.is_dead


@pytest.mark.parametrize("isolated", [False, True], ids=["plain", "isolated"])
@pytest.mark.parametrize("concurrency", [1, 10, 50])
def test_s12_three_jobs_that_kill_their_worker_at_most_double_the_time_of_two_hundred(file, concurrency, isolated):
    alone = Round(file, concurrency, 0, isolated=isolated).run()
    poisoned = Round(file, concurrency, POISON, isolated=isolated)
    assert poisoned.run() <= 2 * alone
    ended = "SELECT kind, status, count(*) FROM outcome JOIN task ON id = task_id GROUP BY kind, status ORDER BY kind"
    assert file.look(ended) == [("deadly", "ERROR", POISON), ("innocent", "DONE", JOBS)]
    assert file.look("SELECT DISTINCT error_class FROM dead_letter") == [("WORKER_CRASHED",)]
    assert len(poisoned.workers) == (1 if isolated else 1 + 2 * POISON)
