"""Run a collection until nothing is left to do: the command and the Python API both end here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from leasehold.pipelines.download.collection import PER_HOST, QUEUE, Collection, Settings
from leasehold.pipelines.download.http.urls import name_of
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.repair.reconcile import Reconciled, reconcile
from leasehold.pipelines.download.status import read_status
from leasehold.pipelines.shell.locate import HOME
from leasehold.pipelines.shell.run_loop import RunObserver, run_until_over
from leasehold.processes import WorkerProcesses, WorkerSpec, worker_arguments

CONCURRENCY: Final = 100
FILES_MAX: Final = 1_000
SHOWN_MAX: Final = 5
LOG: Final = "workers.log"


@dataclass(frozen=True, slots=True)
class FileProgress:
    """A file that is being downloaded; the largest ones have a name."""

    job_id: int
    done: int
    total: int | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class CollectionSnapshot:
    """A collection at one moment: artifacts by state, how many are left, bytes so far, the largest running files."""

    counts: dict[str, int]
    left: int
    bytes: int = 0
    files: list[FileProgress] = field(default_factory=list)

    @property
    def total(self) -> int:
        """How many files were planned."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many have ended, well or not."""
        return max(0, self.total - self.left)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.left == 0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Limits of each host, and who is shown repairs and snapshots."""

    per_host: int = PER_HOST
    rate: float | None = None
    on_repaired: Callable[[Reconciled], None] = lambda _: None
    show: Callable[[CollectionSnapshot], None] = lambda _: None


def read_snapshot(collection: Collection) -> CollectionSnapshot:
    now = read_status(collection)
    running = collection.app.queues.running(QUEUE, limit=FILES_MAX) if now.left else []
    reported = [(task.job_id, task.progress) for task in running if task.progress]
    files = [FileProgress(job_id, int(progress["done"]), progress.get("total")) for job_id, progress in reported]
    files.sort(key=lambda file: -(file.total or file.done))
    named = [replace(file, name=_name(collection, file.job_id)) for file in files[:SHOWN_MAX]]
    received = now.bytes + sum(file.done for file in files)
    return CollectionSnapshot(now.counts, now.left, received, named + files[SHOWN_MAX:])


def _name(collection: Collection, job_id: int) -> str:
    payload = collection.app.get(job_id).payload
    return str(payload.get("filename") or name_of(payload["url"]) or payload["url"])


def run(
    collection: Collection, artifacts: Iterable[Artifact], options: RunOptions, workers: WorkerProcesses
) -> CollectionSnapshot:
    """Repair, plan, and let the workers download until nothing is left or a stop is requested.

    The workers begin with the first planned batch. They do not begin where there is nothing to do.
    """
    options.on_repaired(reconcile(collection))
    collection.limit(options.per_host, options.rate)
    start = partial(_start_if_needed, collection, workers)
    collection.plan(artifacts, start)
    start()  # nothing may be planned now that was not planned before
    snapshot = read_snapshot(collection)
    if snapshot.is_over and not workers.have_started:
        return snapshot
    observer = RunObserver(options.show, workers.stop)
    return run_until_over(snapshot, partial(read_snapshot, collection), workers, observer)


def _start_if_needed(collection: Collection, workers: WorkerProcesses) -> None:
    if not workers.have_started and not read_snapshot(collection).is_over:
        workers.start()


def worker_spec(settings: Settings) -> WorkerSpec:
    """Return how the worker processes of a collection are started."""
    arguments = worker_arguments("leasehold.pipelines.download", CONCURRENCY)
    return WorkerSpec(arguments, settings.environment(), settings.root / HOME / LOG)
