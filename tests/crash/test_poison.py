"""Jobs that kill their worker, among jobs that only run in the same one: nobody innocent ends with them."""

import signal
import threading

import pytest

from tests.support.db import check_journal, check_places, rows
from tests.support.wait import until

WAYS = {
    "kill": {"signal": int(signal.SIGKILL)},
    "exit": {"exit_code": 7},
    "segfault": {"signal": int(signal.SIGSEGV)},
    "memory": {"signal": int(signal.SIGKILL)},
}
KINDS = ("innocent", "innocent_async")


class Supervisor:
    """Starts a worker again when it has died, as systemd would, until the block ends."""

    def __init__(self, workers, **options) -> None:
        self._workers, self._options = workers, options
        self._stopped = threading.Event()
        self.deaths = 0
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.is_set():
            worker = self._workers.run("tests.support.processes.poisoned", str(self._options["concurrency"]))
            until(lambda: self._stopped.is_set() or not worker.running, timeout=600)  # noqa: B023
            self.deaths += not worker.running


def settled(url) -> int:
    return rows(url, "SELECT count(*) FROM outcome")[0][0]


def check_poison(app, workers, way, kind, *, concurrency, count, poison=3):
    url = workers.url
    for number in range(count):
        app.submit(KINDS[number % 2], {"number": number, "seconds": 0.05}, key=f"innocent-{number}")
        if number in range(1, count, count // poison)[:poison]:
            app.submit(kind, {"way": way}, key=f"poison-{number}")
    with Supervisor(workers, concurrency=concurrency):
        until(lambda: settled(url) == count + poison, timeout=600)
    ended = rows(url, "SELECT task.kind, outcome.status FROM outcome JOIN task ON task.id = outcome.task_id")
    assert sorted(set(ended)) == sorted({("innocent", "DONE"), ("innocent_async", "DONE"), (kind, "ERROR")})
    check_places(url)
    check_journal(url)
    return [job for job in app.jobs(status="ERROR") if job.kind == kind]


@pytest.fixture
def known(workers, app):
    """Have the kinds published, by a worker that is stopped before there is work."""
    worker = workers.run("tests.support.processes.poisoned", "1")
    until(lambda: worker.has_logged("worker_started"))
    worker.signal(signal.SIGTERM)
    worker.end()


CASES = [("kill", 10, 21), ("exit", 1, 21), ("segfault", 50, 21), ("memory", 10, 21)]
ALL = [(way, concurrency, 200) for way in WAYS for concurrency in (1, 10, 50)]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("way", "concurrency", "count"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.soak) for case in ALL)],
)
def test_s12_a_job_that_kills_its_worker_is_convicted_and_nobody_else_ends_with_it(
    app, workers, way, concurrency, count
):
    convicted = check_poison(app, workers, way, "deadly", concurrency=concurrency, count=count)
    for job in convicted:
        assert job.failure["error_class"] == "WORKER_CRASHED"
        context = job.failure["context"]
        assert WAYS[way].items() <= context.items()
        assert context["losses"] >= 2, "its own doing; another one may have killed the worker of its third attempt"
        assert context["memory_mb"] >= (300 if way == "memory" else 1)
    # One that dies before any other has begun has nobody to name.
    assert concurrency == 1 or any(job.failure["context"].get("others") for job in convicted)


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("way", ["kill", *(pytest.param(way, marks=pytest.mark.soak) for way in WAYS if way != "kill")])
def test_an_isolated_job_that_dies_is_a_failure_of_its_own_and_loses_nobody(app, workers, url, way):
    for job in check_poison(app, workers, way, "deadly_isolated", concurrency=10, count=20, poison=1):
        assert job.failure["error_class"] == "WORKER_CRASHED"
        assert WAYS[way].items() <= job.failure["context"].items()
        assert "losses" not in job.failure["context"]
    assert rows(url, "SELECT 1 FROM event WHERE name = 'reclaimed'") == []


@pytest.mark.usefixtures("known")
def test_s12_a_suspect_that_may_not_be_isolated_runs_alone_until_its_losses_are_spent(app, workers, url):
    """Nobody is harmed by it after its second loss."""
    [job] = check_poison(app, workers, "kill", "deadly_inside", concurrency=10, count=20, poison=1)
    assert job.failure["context"]["losses"] == 4
    found = rows(url, "SELECT task_id, detail FROM event WHERE name = 'reclaimed' ORDER BY id")
    assert ["others" in detail for task, detail in found if task == job.id][2:] == [False, False]


@pytest.mark.usefixtures("known")
def test_a_bad_deployment_loses_nothing_and_a_good_one_does_the_work(app, workers, url):
    """Its workers die a moment after their start, whatever they run."""
    for number in range(30):
        app.submit(KINDS[number % 2], {"number": number, "seconds": 0.3}, key=str(number))
    for _ in range(8):
        worker = workers.run("tests.support.processes.poisoned", "10", "dying")
        worker.end()
    assert rows(url, "SELECT 1 FROM outcome WHERE status <> 'DONE'") == []
    workers.run("tests.support.processes.poisoned", "10")
    until(lambda: settled(url) == 30, timeout=300)
    assert rows(url, "SELECT status, count(*) FROM outcome GROUP BY status") == [("DONE", 30)]
    check_places(url)
    check_journal(url)
