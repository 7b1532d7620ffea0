"""A user's function and the terms it runs on."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from leasehold.errors import ArgumentsInvalid, OptionInvalid
from leasehold.model.failure.verdict import Rule
from leasehold.model.machine import Machine
from leasehold.model.names import route as route_of
from leasehold.model.retry import Retry
from leasehold.model.task import Terms

_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Handler:
    """What runs tasks of one route."""

    kind: str
    stage: str | None
    function: Callable[..., Any]
    terms: Terms
    retry: Retry
    isolated: bool = False
    is_async: bool = False
    wants_task: bool = False
    required: frozenset[str] = field(default_factory=frozenset)
    accepted: frozenset[str] | None = None
    rules: tuple[Rule, ...] = ()
    machine: Machine | None = None

    @property
    def route(self) -> str:
        return route_of(self.kind, self.stage)

    def arguments(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the function's arguments: all fields for a plain job, for a stage those it asks for."""
        self.check(payload)
        if self.stage is None or self.accepted is None or payload.keys() <= self.accepted:
            return payload
        return {name: value for name, value in payload.items() if name in self.accepted}

    def check(self, payload: Mapping[str, object]) -> None:
        """Raise `ArgumentsInvalid` unless the function can be called with the payload's fields."""
        if not payload and not self.required:
            return
        missing = self.required - payload.keys()
        takes_all = self.stage is not None or self.accepted is None
        unknown = frozenset() if takes_all else payload.keys() - (self.accepted or frozenset())
        if missing or unknown:
            problems = [f"missing: {', '.join(sorted(missing))}"] if missing else []
            problems += [f"unknown: {', '.join(sorted(unknown))}"[:200]] if unknown else []
            raise ArgumentsInvalid(f"Handler '{self.route}': {'; '.join(problems)}.")


def make_handler(
    kind: str,
    stage: str | None,
    function: Callable[..., Any],
    terms: Terms,
    retry: Retry,
    *,
    isolated: bool,
    rules: tuple[Rule, ...] = (),
    machine: Machine | None = None,
) -> Handler:
    """Look at a function once, so that calling it is cheap."""
    parameters = list(inspect.signature(function).parameters.values())
    wants_task = bool(parameters) and parameters[0].name == "task"
    fields = parameters[1:] if wants_task else parameters
    place = getattr(function, "__qualname__", "<no name>")
    if isolated and "<" in place:
        raise OptionInvalid(f"isolated=True needs a function at the top of a module; '{place}' is not.")
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
    required = frozenset(p.name for p in fields if p.kind in _KEYWORD and p.default is p.empty)
    accepted = _accepted(fields, kind)
    return Handler(
        kind, stage, function, terms, retry, isolated, is_async, wants_task, required, accepted, rules, machine
    )


def _accepted(fields: list[inspect.Parameter], kind: str) -> frozenset[str] | None:
    for parameter in fields:
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
            raise OptionInvalid(
                f"Handler '{kind}' has the positional argument '{parameter.name}'; fields arrive by name."
            )
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in fields):
        return None
    return frozenset(p.name for p in fields)
