"""Run a document until nothing is left to do, in worker processes."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.shell.locate import HOME
from leasehold.pipelines.shell.run_loop import RunObserver, run_until_over
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.export import project
from leasehold.pipelines.translate.history import PlannedParagraph, planned_paragraphs
from leasehold.pipelines.translate.limits import PROJECT_SECONDS
from leasehold.pipelines.translate.toolchain import KIND, ROUND, Toolchain
from leasehold.processes import ForkedProcess, WorkerProcesses, WorkerSpec, worker_arguments

ERRORS_MAX: Final = 1_000
FIRST_PASS: Final = (states.INGESTED, states.TRANSLATED_PASS1, states.REVIEWED_PASS1)


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run at one moment: paragraphs by state, how many are left to do, and how many failed."""

    counts: dict[str, int]
    left: int
    failed: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def is_over(self) -> bool:
        return self.left == 0


class ParagraphPoller:
    """Reads the state of a document's paragraphs; a job that has ended is not read again."""

    def __init__(self, toolchain: Toolchain, document: Document, *, rework_only: bool = False) -> None:
        self._toolchain = toolchain
        self._ignored_states = FIRST_PASS if rework_only else ()
        self._keys = toolchain.keys(document)
        self._ended: set[int] = set()

    def read(self) -> RunSnapshot:
        known = planned_paragraphs(self._toolchain)
        own = [known[key] for key in self._keys if key in known]
        jobs = self._toolchain.app.jobs
        failed = {job.id for kind in (KIND, ROUND) for job in jobs(kind=kind, status="ERROR", limit=ERRORS_MAX)}
        awaited = [
            place for place in own if place.state not in self._ignored_states and place.last_job_id not in failed
        ]
        left = [place for place in awaited if not self._has_ended(place)]
        counts = Counter(place.state for place in own)
        ordered = {state: counts[state] for state in states.STATES if counts[state]}
        return RunSnapshot(ordered, len(left), sum(place.last_job_id in failed for place in own))

    def _has_ended(self, place: PlannedParagraph) -> bool:
        job_id = place.last_job_id
        if job_id not in self._ended and self._toolchain.app.get(job_id).status.settled:
            self._ended.add(job_id)
        return job_id in self._ended


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How many processes, how many paragraphs in each at once, and whether only reworks are done."""

    processes: int = 1
    parallel: int = 4
    rework_only: bool = False


def worker_spec(toolchain: Toolchain, workers: WorkerOptions) -> WorkerSpec:
    queue = ("--queue", toolchain.rework_queue) if workers.rework_only else ()
    arguments = worker_arguments("leasehold.pipelines.translate", workers.parallel, *queue)
    return WorkerSpec(arguments, toolchain.settings.environment(), toolchain.settings.folder / HOME / "workers.log")


def run_workers(
    toolchain: Toolchain,
    document: Document,
    workers: WorkerOptions,
    observer: RunObserver[RunSnapshot],
    forked: Sequence[ForkedProcess] = (),
) -> RunSnapshot:
    """Let worker processes translate until nothing is left or a stop is requested; the files are written meanwhile."""
    poller = ParagraphPoller(toolchain, document, rework_only=workers.rework_only)
    if (snapshot := poller.read()).is_over:
        return snapshot
    projected_at = time.monotonic()

    def show_and_project(snapshot: RunSnapshot) -> None:
        nonlocal projected_at
        observer.show(snapshot)
        if not snapshot.is_over and time.monotonic() - projected_at >= PROJECT_SECONDS:
            project(toolchain, document)
            projected_at = time.monotonic()

    spec = worker_spec(toolchain, workers)
    with WorkerProcesses(spec, workers.processes, observer.stop, forked) as processes:
        watched = RunObserver(show_and_project, observer.stop, observer.check)
        return run_until_over(snapshot, poller.read, processes, watched)
