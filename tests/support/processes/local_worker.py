"""A worker inside the test's own process, for handlers that are closures of the test."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from leasehold.app.kinds import JobKind, Pipeline
from leasehold.runtime.deliver.sender import RegisteredProvider
from leasehold.runtime.worker import Worker, WorkerPlan, make_plan
from leasehold.store import open_store

Queues = list[str] | Mapping[str, int | None] | None
Carriers = Mapping[str, RegisteredProvider]


def plan_of(
    *kinds: JobKind | Pipeline,
    queues: Queues = None,
    concurrency: int = 10,
    grace: float = 30.0,
    providers: Carriers | None = None,
) -> WorkerPlan:
    handlers = {handler.route: handler for kind in kinds for handler in kind.handlers()}
    return make_plan(handlers, queues, concurrency, grace, providers or {})


@contextmanager
def run_worker(
    url: str,
    *kinds: JobKind | Pipeline,
    queues: Queues = None,
    concurrency: int = 10,
    providers: Carriers | None = None,
) -> Iterator[Worker]:
    """Run a worker for these kinds until the block ends."""
    with closing(open_store(url)) as store:
        worker = Worker(store, plan_of(*kinds, queues=queues, concurrency=concurrency, providers=providers))
        worker.start()
        try:
            yield worker
        finally:
            worker.stop()
