"""A user's function and the terms it runs on."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from leasehold.errors import GraphInvalid, OptionInvalid, did_you_mean
from leasehold.model.failure.verdict import Rule
from leasehold.model.fields import JSON_TYPES, Fields
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
    can_isolate: bool = False  # a suspect runs isolated then, although its kind does not
    is_async: bool = False
    wants_task: bool = False
    fields: Fields = field(default_factory=Fields)
    accepted: frozenset[str] | None = None
    rules: tuple[Rule, ...] = ()
    machine: Machine | None = None
    timeout: float | None = None
    arounds: Sequence[Callable[..., Any]] = ()  # of its app, which may get more after this was made

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
        if self.accepted is None or payload.keys() != self.accepted:
            self.fields.check(payload, self.route)


def make_handler(  # noqa: PLR0913 — every option is named at the call
    kind: str,
    stage: str | None,
    function: Callable[..., Any],
    terms: Terms,
    retry: Retry,
    *,
    isolated: bool | None,
    rules: tuple[Rule, ...] = (),
    machine: Machine | None = None,
    timeout: float | None = None,
    arounds: Sequence[Callable[..., Any]] = (),
) -> Handler:
    """Look at a function once, so that calling it is cheap."""
    parameters = list(inspect.signature(function).parameters.values())
    wants_task = bool(parameters) and parameters[0].name == "task"
    fields = parameters[1:] if wants_task else parameters
    place = getattr(function, "__qualname__", "<no name>")
    is_at_top = "<" not in place
    if isolated and not is_at_top:
        raise OptionInvalid(f"isolated=True needs a function at the top of a module; '{place}' is not.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise OptionInvalid(f"Handler '{kind}' is a generator ('{place}' has a yield); return the whole result.")
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
    required = tuple(p.name for p in fields if p.kind in _KEYWORD and p.default is p.empty)
    accepted = _accepted(fields, kind)
    return Handler(
        kind=kind,
        stage=stage,
        function=function,
        terms=terms,
        retry=retry,
        isolated=bool(isolated),
        can_isolate=bool(isolated) or (isolated is None and is_at_top and "." not in place),
        is_async=is_async,
        wants_task=wants_task,
        # A stage gets those fields of its job's payload that it asks for, so others are not unknown to it.
        fields=Fields(required, accepted if stage is None else None, _types(function, fields)),
        accepted=None if accepted is None else frozenset(accepted),
        rules=rules,
        machine=machine,
        timeout=timeout,
        arounds=arounds,
    )


def _accepted(fields: list[inspect.Parameter], kind: str) -> tuple[str, ...] | None:
    for parameter in fields:
        if parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL):
            raise OptionInvalid(
                f"Handler '{kind}' has the positional argument '{parameter.name}'; fields arrive by name."
            )
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in fields):
        return None
    return tuple(p.name for p in fields)


def _types(function: Callable[..., Any], fields: list[inspect.Parameter]) -> dict[str, tuple[str, ...]]:
    """Return the names of the types that each field may have, where its annotation names types of JSON alone."""
    try:
        hints = get_type_hints(function) if inspect.isroutine(function) else {}
    except Exception:  # noqa: BLE001 — names that exist only for type checkers: nothing is known of any field
        return {}
    named = [one for one in fields if one.kind in _KEYWORD and one.name in hints]
    found = {one.name: _json_types(hints[one.name], one.default) for one in named}
    return {name: types for name, types in found.items() if types}


def _json_types(annotation: Any, default: object) -> tuple[str, ...]:
    """Return the names of types of JSON; none if something else is accepted as well."""
    members = list(get_args(annotation)) if get_origin(annotation) in (Union, UnionType) else [annotation]
    if default is None:
        members.append(NoneType)
    names = [_json_type(one) for one in members]
    return tuple(dict.fromkeys(names)) if all(names) else ()


def _json_type(annotation: Any) -> str:
    plain = dict if is_typeddict(annotation) else get_origin(annotation) or annotation
    name = plain.__name__ if isinstance(plain, type) and plain.__module__ == "builtins" else ""
    return name if name in JSON_TYPES else ""


def check_each(source: Handler, each: str) -> None:
    """Raise `GraphInvalid` if the return annotation of a stage shows that its output has no list of this name."""
    try:
        returned: Any = get_type_hints(source.function).get("return", object)
    except Exception:  # noqa: BLE001 — names that exist only for type checkers; the run finds out
        return
    known = get_type_hints(returned) if is_typeddict(returned) else None
    problem = f"each='{each}' needs a field of the output of '{source.route}' with a list, which returns"
    if known is not None and each not in known:
        raise GraphInvalid(f"{problem} {returned.__name__} with {', '.join(known)}.{did_you_mean(each, known)}")
    if known is not None and _is_one_of(known[each], str, int, float, bool, dict, type(None)):
        raise GraphInvalid(f"{problem} {returned.__name__} with {each} of type {known[each].__name__}.")
    if _is_one_of(returned, list, tuple, str, int, float, bool, type(None)):
        raise GraphInvalid(f"{problem} {getattr(returned, '__name__', 'None')}; return {{'{each}': [...]}} there.")


def _is_one_of(annotation: Any, *types: type) -> bool:
    return (get_origin(annotation) or annotation) in types
