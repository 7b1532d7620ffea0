"""Run a collection until nothing is left to do: the command and the Python API both end here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from leasehold.pipelines.download.collection import PER_HOST, QUEUE, Collection, Settings
from leasehold.pipelines.download.http.urls import name_of
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.repair.reconcile import Reconciled, reconcile
from leasehold.pipelines.download.status import CollectionStatus, FileProgress, read_status
from leasehold.pipelines.shell.locate import HOME
from leasehold.pipelines.shell.run_loop import RunObserver, run_until_over
from leasehold.processes import WorkerProcesses, WorkerSpec, worker_arguments

CONCURRENCY: Final = 100
FILES_MAX: Final = 1_000
SHOWN_MAX: Final = 5
LOG: Final = "workers.log"


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
    received = now.bytes + sum(file.done for file in files)
    return replace(now, bytes=received, files=(*named, *files[SHOWN_MAX:]))


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
