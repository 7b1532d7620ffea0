"""`app.job`: the decorator that makes a function the handler of a kind."""

from collections.abc import Callable
from typing import Unpack, overload

from leasehold.app.kinds import (
    Function,
    HandlerOptions,
    JobKind,
    KindRegistry,
    Submitter,
    check_machine,
    check_retry,
    make_terms,
)
from leasehold.model.failure.rules import Failures, make_rules
from leasehold.model.limits import LEASE_SECONDS
from leasehold.model.machine import Machine
from leasehold.model.names import check_name
from leasehold.model.retry import Retry
from leasehold.runtime.handlers import make_handler


class JobOptions(HandlerOptions, total=False):
    """The options of a job."""

    failures: Failures
    machine: Machine | None


class JobDecorator:
    """Registers functions: `@app.job`, or `@app.job(queue="mail", retry=Retry(attempts=3), lease=30)`."""

    def __init__(self, app: Submitter, registry: KindRegistry) -> None:
        self._app = app
        self._registry = registry

    @overload
    def __call__(self, function: Function) -> JobKind: ...

    @overload
    def __call__(self, **options: Unpack[JobOptions]) -> Callable[[Function], JobKind]: ...

    def __call__(  # noqa: PLR0913 — every option is named at the call
        self,
        function: Function | None = None,
        *,
        name: str | None = None,
        queue: str = "default",
        retry: Retry | None = None,
        lease: float = LEASE_SECONDS,
        on_lost: str = "requeue",
        isolated: bool = False,
        failures: Failures = None,
        machine: Machine | None = None,
    ) -> JobKind | Callable[[Function], JobKind]:
        """Register a function as the handler of the kind it is named after, or of `name`."""
        policy = check_retry(retry)
        terms = make_terms(queue, policy, lease, on_lost)
        rules = make_rules(failures)

        def register(decorated: Function) -> JobKind:
            kind = check_name(name or getattr(decorated, "__name__", None), "kind")
            handler = make_handler(
                kind, None, decorated, terms, policy, isolated=isolated, rules=rules, machine=check_machine(machine)
            )
            made = JobKind(self._app, handler)
            self._registry.add(made)
            return made

        return register if function is None else register(function)
