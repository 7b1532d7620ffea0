"""A worker's plan, from the options of its caller."""

from collections.abc import Mapping, Sequence

from leasehold.errors import KindUnknown, OptionInvalid, QueueUnserved
from leasehold.model.limits import CONCURRENCY_MAX
from leasehold.model.names import check_name, check_range, check_whole
from leasehold.runtime.deliver.sender import RegisteredProvider
from leasehold.runtime.handlers import Handler
from leasehold.runtime.worker import Plan


def make_plan(
    handlers: Mapping[str, Handler],
    queues: Sequence[str] | Mapping[str, int | None] | None,
    concurrency: int,
    grace: float,
    providers: Mapping[str, RegisteredProvider] | None = None,
) -> Plan:
    """Check and complete the options: without queues, every queue that has a handler here."""
    if not handlers:
        raise KindUnknown("This app has no handlers; decorate a function with @app.job before it works.")
    check_whole(concurrency, 1, CONCURRENCY_MAX, "concurrency")
    check_range(grace, 0, 24 * 3600, "grace (seconds)")
    served = {handler.terms.queue for handler in handlers.values()}
    chosen = _chosen(served, queues)
    for name, cap in chosen.items():
        if check_name(name, "queue") not in served:
            raise QueueUnserved(f"The queue is '{name}'; handlers here are for {', '.join(sorted(served))}.")
        if cap is not None:
            check_whole(cap, 1, CONCURRENCY_MAX, f"The cap of queue '{name}'")
    return Plan(handlers, chosen, int(concurrency), float(grace), dict(providers or {}))


def _chosen(served: set[str], queues: Sequence[str] | Mapping[str, int | None] | None) -> dict[str, int | None]:
    if queues is None:
        return dict.fromkeys(sorted(served))
    if isinstance(queues, str) or not queues:
        raise OptionInvalid(f"queues is a list of names, or a mapping of names to caps; got {queues!r}.")
    if isinstance(queues, Mapping):
        return dict(queues)
    return dict.fromkeys(queues)
