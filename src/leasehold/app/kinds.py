"""What may be submitted: kinds of jobs, pipelines and their stages, as decorators make them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypedDict, TypeVar, Unpack, overload

from leasehold import clock
from leasehold.app.job import Job
from leasehold.errors import ArgumentsInvalid, GraphInvalid, KindTaken, KindUnknown, OptionInvalid, shown
from leasehold.model.failure.verdict import Failures, make_rules
from leasehold.model.graph import Definition, Stage, check_graph
from leasehold.model.limits import (
    DELAY_SECONDS_MAX,
    LEASE_SECONDS,
    LEASE_SECONDS_MAX,
    LEASE_SECONDS_MIN,
    TIMEOUT_SECONDS_MIN,
)
from leasehold.model.machine import Machine
from leasehold.model.names import check_key, check_name, check_range
from leasehold.model.retry import Retry
from leasehold.model.status import OnLost
from leasehold.model.task import Terms
from leasehold.runtime.handlers import Handler, check_each, make_handler
from leasehold.runtime.hooks import Around, Hooks

Function = Callable[..., Any]


class SubmitOptions(TypedDict, total=False):
    """The options of one submit; `Leasehold.submit` explains them."""

    key: str | None
    priority: int
    delay: float
    version: int | None
    branch: str | None
    deadline: float | None
    budget: Mapping[str, int] | None


class HandlerOptions(TypedDict, total=False):
    """The options that jobs and stages share."""

    name: str | None
    queue: str
    retry: Retry | None
    lease: float
    on_lost: str
    isolated: bool | None
    timeout: float | None


class Submitter(Protocol):
    """Submits jobs: the app."""

    def submit(self, what: object, payload: object = None, **options: Unpack[SubmitOptions]) -> Job:
        """Submit a job."""


def split_options(kind: str, payload: object, given: Mapping[str, Any]) -> tuple[object, SubmitOptions]:
    """Separate the payload's fields from the options of a submit; fields are given in one of the two ways."""
    options: Any = {name: value for name, value in given.items() if name in SubmitOptions.__annotations__}
    fields = {name: value for name, value in given.items() if name not in options}
    if fields and payload is not None:
        both = ", ".join(fields)
        raise ArgumentsInvalid(f"'{kind}' got a payload and, by name: {both}. Pass all fields in one of the two ways.")
    return fields or payload, options


def check_timeout(timeout: float | None) -> float | None:
    if timeout is not None:
        check_range(timeout, TIMEOUT_SECONDS_MIN, DELAY_SECONDS_MAX, "timeout (seconds)")
    return timeout


def check_deadline(deadline: float | None) -> int | None:
    """Return it in microseconds."""
    if deadline is None:
        return None
    return clock.microseconds(check_range(deadline, TIMEOUT_SECONDS_MIN, DELAY_SECONDS_MAX, "deadline (seconds)"))


def make_terms(queue: str, retry: Retry | None, lease: float, on_lost: str) -> tuple[Terms, Retry]:
    """Check the options of a job or stage."""
    if retry is not None and not isinstance(retry, Retry):
        raise OptionInvalid(f"retry is a Retry, such as Retry(attempts=3); got {type(retry).__name__}.")
    policy = retry or Retry()
    check_range(lease, LEASE_SECONDS_MIN, LEASE_SECONDS_MAX, "lease (seconds)")
    if on_lost not in tuple(OnLost):
        raise OptionInvalid(f"on_lost is 'requeue' or 'bury'; got {shown(on_lost)}.")
    return Terms(check_name(queue, "queue"), policy.attempts, round(lease * 1000), OnLost(on_lost).value), policy


def check_machine(machine: object) -> Machine | None:
    if machine is not None and not isinstance(machine, Machine):
        raise OptionInvalid(f"machine is what app.machine(…) returned; got {type(machine).__name__}.")
    return machine


class _DecoratedFunction:
    """A registered function. Calling it calls the function itself, outside the engine."""

    def __init__(self, name: str, handler: Handler) -> None:
        self.name = name
        self.handler = handler
        self.__doc__ = handler.function.__doc__

    def __call__(self, *arguments: Any, **fields: Any) -> Any:
        return self.handler.function(*arguments, **fields)


class JobKind(_DecoratedFunction):
    """A plain job's kind: call it like the function it was made from, or submit it."""

    def __init__(self, app: Submitter, handler: Handler, deadline_us: int | None = None) -> None:
        super().__init__(handler.kind, handler)
        self._app = app
        self.definition = Definition(
            handler.kind,
            handler.terms,
            machine=handler.machine,
            losses=handler.retry.losses,
            deadline_us=deadline_us,
            fields=handler.fields,
        )

    def submit(self, payload: object = None, **given: Any) -> Job:
        """Submit a job of this kind: its fields by name, or all in `payload`; options as of `Leasehold.submit`.

        A field that is named like an option (`key`, `delay`, …) can stand in `payload` only.
        """
        fields, options = split_options(self.name, payload, given)
        return self._app.submit(self, fields, **options)

    def handlers(self) -> list[Handler]:
        return [self.handler]


class StageHandle(_DecoratedFunction):
    """One stage of a pipeline: call it like the function it was made from, or name it in `after`."""

    def __init__(self, name: str, handler: Handler, pipeline: object) -> None:
        super().__init__(name, handler)
        self.pipeline = pipeline


After = str | StageHandle | Iterable[str | StageHandle] | None


class StageOptions(HandlerOptions, total=False):
    """The options of a stage."""

    after: After
    each: str | None


class Pipeline:
    """A pipeline's kind: stages are added with `@pipeline.stage`."""

    def __init__(
        self,
        app: Submitter,
        name: str,
        failures: Failures = None,
        machine: Machine | None = None,
        arounds: Sequence[Around] = (),
        deadline: float | None = None,
    ) -> None:
        self._app = app
        self.name = name
        self._deadline_us = check_deadline(deadline)
        self._arounds = arounds
        self._rules = make_rules(failures)
        self._machine = check_machine(machine)
        self._stages: dict[str, Stage] = {}
        self._handlers: dict[str, Handler] = {}

    @overload
    def stage(self, function: Function) -> StageHandle: ...

    @overload
    def stage(self, **options: Unpack[StageOptions]) -> Callable[[Function], StageHandle]: ...

    def stage(  # noqa: PLR0913 — every option is named at the call
        self,
        function: Function | None = None,
        *,
        after: After = None,
        each: str | None = None,
        name: str | None = None,
        queue: str = "default",
        retry: Retry | None = None,
        lease: float = LEASE_SECONDS,
        on_lost: str = "requeue",
        isolated: bool | None = None,
        timeout: float | None = None,
    ) -> StageHandle | Callable[[Function], StageHandle]:
        """Add a stage that runs when those in `after` are done; with `each`, once per item of that output field.

        `timeout`: how many seconds an attempt may take.
        """
        terms, policy = make_terms(queue, retry, lease, on_lost)
        limit = check_timeout(timeout)
        if each is not None:
            check_key(each, "each")

        def add(decorated: Function) -> StageHandle:
            own = check_name(name or getattr(decorated, "__name__", None), "stage")
            if own in self._stages:
                raise KindTaken(f"Pipeline '{self.name}' has a stage '{own}'.")
            handler = make_handler(
                self.name,
                own,
                decorated,
                terms,
                policy,
                isolated=isolated,
                rules=self._rules,
                machine=self._machine,
                timeout=limit,
                arounds=self._arounds,
            )
            stage = Stage(own, terms, self._names(after), each, handler.fields, policy.losses)
            check_graph(self.name, (*self._stages.values(), stage))
            if each is not None:
                check_each(self._handlers[stage.after[0]], each)
            self._stages[own], self._handlers[own] = stage, handler
            return StageHandle(own, handler, self)

        return add if function is None else add(function)

    @property
    def definition(self) -> Definition:
        if not self._stages:
            raise GraphInvalid(f"Pipeline '{self.name}' has no stages; add one with @{self.name}.stage.")
        return Definition(
            self.name, Terms(), tuple(self._stages.values()), self._machine, deadline_us=self._deadline_us
        )

    def submit(self, payload: object = None, **given: Any) -> Job:
        """Submit a job of this pipeline, as `JobKind.submit` does; there is no option `branch`."""
        fields, options = split_options(self.name, payload, given)
        return self._app.submit(self, fields, **options)

    def handlers(self) -> list[Handler]:
        return list(self._handlers.values())

    def _names(self, after: After) -> tuple[str, ...]:
        if after is None:
            return ()
        several: Iterable[object] = after if isinstance(after, Iterable) and not isinstance(after, str) else [after]
        return tuple(dict.fromkeys(self._name(one) for one in several))

    def _name(self, one: object) -> str:
        if isinstance(one, StageHandle) and one.pipeline is not self:
            raise GraphInvalid(
                f"'{one.name}' is a stage of another pipeline ('{one.handler.kind}'), not of '{self.name}'."
            )
        if not isinstance(one, str | StageHandle):
            raise OptionInvalid(f"after is a stage of '{self.name}', the name of one, or several; got {shown(one)}.")
        return one.name if isinstance(one, StageHandle) else check_name(one, "stage")


K = TypeVar("K", bound=JobKind | Pipeline)


class KindRegistry:
    def __init__(self) -> None:
        self._kinds: dict[str, JobKind | Pipeline] = {}
        self.hooks = Hooks()

    def add(self, kind: K) -> K:
        """Register a kind under a unique name."""
        if kind.name in self._kinds:
            raise KindTaken(f"It is the kind '{kind.name}'.")
        self._kinds[kind.name] = kind
        return kind

    def find(self, what: object) -> JobKind | Pipeline | None:
        """Return a kind by itself or by name; None if a name is not known here."""
        if isinstance(what, JobKind | Pipeline):
            return what
        if isinstance(what, StageHandle):
            raise KindUnknown(f"'{what.name}' is a stage; submit its pipeline.")
        return self._kinds.get(check_name(what, "kind"))

    def names(self) -> list[str]:
        return list(self._kinds)

    def handlers(self) -> dict[str, Handler]:
        return {handler.route: handler for kind in self._kinds.values() for handler in kind.handlers()}

    def definitions(self) -> list[Definition]:
        return [kind.definition for kind in self._kinds.values() if kind.handlers()]


class JobOptions(HandlerOptions, total=False):
    """The options of a job."""

    failures: Failures
    machine: Machine | None
    deadline: float | None


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
        isolated: bool | None = None,
        timeout: float | None = None,
        deadline: float | None = None,
        failures: Failures = None,
        machine: Machine | None = None,
    ) -> JobKind | Callable[[Function], JobKind]:
        """Register a function as the handler of the kind it is named after, or of `name`.

        `timeout`: how many seconds an attempt may take; `deadline`: how many after its submit a job must have ended.
        """
        terms, policy = make_terms(queue, retry, lease, on_lost)
        rules, limit, ends_in_us = make_rules(failures), check_timeout(timeout), check_deadline(deadline)

        def register(decorated: Function) -> JobKind:
            kind = check_name(name or getattr(decorated, "__name__", None), "kind")
            handler = make_handler(
                kind,
                None,
                decorated,
                terms,
                policy,
                isolated=isolated,
                rules=rules,
                machine=check_machine(machine),
                timeout=limit,
                arounds=self._registry.hooks.arounds,
            )
            return self._registry.add(JobKind(self._app, handler, ends_in_us))

        return register if function is None else register(function)
