"""Run a collection until nothing is left to do, and its status on the way: artifacts by state, each counted once.

The command and the Python API both end here.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from leasehold.pipelines.download import states
from leasehold.pipelines.download.collection import KIND, PER_HOST, QUEUE, Collection, Settings
from leasehold.pipelines.download.http.urls import name_of
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.repair.reconcile import Reconciled, reconcile
from leasehold.pipelines.shell.locate import HOME
from leasehold.pipelines.shell.run_loop import RunObserver, run_until_over
from leasehold.pipelines.shell.text import counts_text
from leasehold.processes import WorkerProcesses, WorkerSpec, worker_arguments

CANCELLED: Final = "CANCELLED"
CANCELLED_MAX: Final = 1_000
LABELS: Final = {
    states.PLANNED: "planned",
    states.LEASED: "connecting",
    states.HEAD_DONE: "connecting",
    states.RESUME_OK: "resuming",
    states.STREAMING: "downloading",
    states.FINALIZED: "finishing",
    states.INDEXED: "downloaded",
    states.DEDUPED: "duplicate",
    states.SKIPPED_DUPLICATE: "already downloaded",
    states.FAILED: "failed",
    CANCELLED: "cancelled",
    states.FINAL_MISSING: "missing from disk",
}
PLURALS: Final = {"duplicate": "duplicates"}
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
class CollectionStatus:
    """Artifacts by state, with those cancelled and those whose file is missing, and how many have not ended.

    `bytes`: of the downloaded files, and with `files`, those that are being downloaded, of these so far.
    """

    counts: dict[str, int]
    left: int
    bytes: int = 0
    files: Sequence[FileProgress] = ()

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """How many have ended, well or not."""
        return max(0, self.total - self.left)

    @property
    def is_over(self) -> bool:
        return self.left == 0

    @property
    def is_well(self) -> bool:
        """Whether nothing failed or is missing."""
        return not self.counts.get(states.FAILED) and not self.counts.get(states.FINAL_MISSING)


def read_status(collection: Collection) -> CollectionStatus:
    """Count. Cancelled jobs are read first: they are final, so that the counts, read later, hold all of them."""
    cancelled_jobs = collection.app.jobs(kind=KIND, status=CANCELLED, limit=CANCELLED_MAX)
    cancelled = sum(job.state in states.UNFINISHED for job in cancelled_jobs)
    counts = collection.counts()
    unfinished = sum(counts.get(state, 0) for state in states.UNFINISHED)
    if len(cancelled_jobs) == CANCELLED_MAX:
        cancelled = max(0, unfinished - _jobs_left(collection))
    summary = collection.tools.index.summary()
    counts = _subtract(counts, states.UNFINISHED, cancelled)
    counts = _subtract(counts, states.DOWNLOADED, summary.missing + summary.reruns)
    counts |= {CANCELLED: cancelled, states.FINAL_MISSING: summary.missing}
    shown = {state: count for state, count in counts.items() if count}
    return CollectionStatus(shown, unfinished - cancelled, summary.bytes)


def _jobs_left(collection: Collection) -> int:
    """Count the jobs that wait, are ready or run, over the queues of all hosts; slow with many hosts."""
    queues = [queue for queue in collection.app.queues.all() if queue.name.partition("/")[0] == QUEUE]
    return sum(queue.waiting + queue.ready + queue.running for queue in queues)


def _subtract(counts: dict[str, int], states_of: tuple[str, ...], amount: int) -> dict[str, int]:
    found = dict(counts)
    for state in states_of:
        if part := min(amount, found.get(state, 0)):
            found[state] -= part
            amount -= part
    return found


def state_counts(counts: dict[str, int]) -> str:
    """Return counts by state as people read them: 3 downloaded, 1 duplicate, 1 failed."""
    labelled: Counter[str] = Counter()
    for state, count in counts.items():
        labelled[LABELS[state]] += count
    return counts_text({PLURALS.get(label, label) if n > 1 else label: n for label, n in labelled.items()})


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Limits of each host, and who is shown repairs and the status."""

    per_host: int = PER_HOST
    rate: float | None = None
    on_repaired: Callable[[Reconciled], None] = lambda _: None
    show: Callable[[CollectionStatus], None] = lambda _: None


def read_progress(collection: Collection) -> CollectionStatus:
    """Read the status, with the files that are being downloaded, the largest first."""
    now = read_status(collection)
    running = collection.app.queues.running(QUEUE, limit=FILES_MAX) if now.left else []
    reported = [(task.job_id, task.progress) for task in running if task.progress]
    files = [FileProgress(job_id, int(progress["done"]), progress.get("total")) for job_id, progress in reported]
    files.sort(key=lambda file: -(file.total or file.done))
    named = [replace(file, name=_name(collection, file.job_id)) for file in files[:SHOWN_MAX]]
    return replace(now, bytes=now.bytes + sum(file.done for file in files), files=(*named, *files[SHOWN_MAX:]))


def _name(collection: Collection, job_id: int) -> str:
    payload = collection.app.get(job_id).payload
    return str(payload.get("filename") or name_of(payload["url"]) or payload["url"])


def run(
    collection: Collection, artifacts: Iterable[Artifact], options: RunOptions, workers: WorkerProcesses
) -> CollectionStatus:
    """Repair, plan, and let the workers download until nothing is left or a stop is requested.

    The workers begin with the first planned batch. They do not begin where there is nothing to do.
    """

    def start_if_needed() -> None:
        if not workers.have_started and not read_status(collection).is_over:
            workers.start()

    options.on_repaired(reconcile(collection))
    collection.limit(options.per_host, options.rate)
    collection.plan(artifacts, start_if_needed)
    start_if_needed()  # nothing may be planned now that was not planned before
    first = read_progress(collection)
    if first.is_over and not workers.have_started:
        return first
    return run_until_over(first, partial(read_progress, collection), workers, RunObserver(options.show, workers.stop))


def worker_spec(settings: Settings) -> WorkerSpec:
    arguments = worker_arguments("leasehold.pipelines.download", CONCURRENCY)
    return WorkerSpec(arguments, settings.environment(), settings.root / HOME / LOG)
