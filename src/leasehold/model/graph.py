"""A pipeline as data: its stages, what each waits for, and what must hold before it may be submitted."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from leasehold.errors import GraphInvalid, did_you_mean
from leasehold.model.fields import Fields
from leasehold.model.limits import LOSSES, STAGES_MAX
from leasehold.model.machine import Machine
from leasehold.model.names import route
from leasehold.model.task import Child, Terms


class Stage(Struct, frozen=True):
    """One stage: `after` names the stages it waits for; `each` the list field of the first of them to fan out over."""

    name: str
    terms: Terms
    after: tuple[str, ...] = ()
    each: str | None = None
    fields: Fields | None = None
    losses: int = LOSSES


class Definition(Struct, frozen=True):
    """What a kind is: the terms of a plain job, or the stages of a pipeline; published for those without handlers.

    `losses`: how many workers a task may lose; read when a lease is lost, so that a new definition holds for old jobs.
    """

    kind: str
    terms: Terms
    stages: tuple[Stage, ...] = ()
    machine: Machine | None = None
    fields: Fields | None = None
    deadline_us: int | None = None
    losses: int = LOSSES

    def check_fields(self, payload: Mapping[str, object]) -> None:
        """Raise `ArgumentsInvalid` unless every handler can be called with the payload's fields.

        An older version published no fields; then the worker finds out.
        """
        for fields, name in self._all_fields():
            fields.check(payload, name)

    def check_types(self, payload: Mapping[str, object]) -> None:
        """Raise `ArgumentsInvalid` if a field has another type than a handler's annotation of it."""
        for fields, name in self._all_fields():
            fields.check_types(payload, name)

    def _all_fields(self) -> Iterator[tuple[Fields, str]]:
        if self.fields is not None:
            yield self.fields, self.kind
        for stage in self.stages:
            if stage.fields is not None:
                yield stage.fields, route(self.kind, stage.name)


def check_graph(kind: str, stages: tuple[Stage, ...]) -> None:
    """Raise `GraphInvalid` unless every stage can run once all before it are done."""
    if len(stages) > STAGES_MAX:
        raise GraphInvalid(f"Pipeline '{kind}' has {len(stages)} stages; the limit is {STAGES_MAX}.")
    known = {stage.name for stage in stages}
    for stage in stages:
        if stage.name in stage.after:
            raise GraphInvalid(f"Stage '{stage.name}' of '{kind}' waits for itself.")
        if unknown := [name for name in stage.after if name not in known]:
            hint = did_you_mean(unknown[0], known - {stage.name})
            raise GraphInvalid(
                f"Stage '{stage.name}' of '{kind}' waits for '{unknown[0]}', which does not exist.{hint}"
            )
    _check_order(kind, stages)
    _check_fan_out(kind, {stage.name: stage for stage in stages})


def _check_fan_out(kind: str, stages: Mapping[str, Stage]) -> None:
    for stage in stages.values():
        if stage.each is None:
            continue
        problem = f"Stage '{stage.name}' of '{kind}' has each='{stage.each}'"
        if not stage.after:
            raise GraphInvalid(f"{problem} but waits for no stage.")
        if stages[stage.after[0]].each is not None:
            raise GraphInvalid(
                f"{problem} after '{stage.after[0]}', which fans out itself and so has many outputs and no field;"
                " put a stage in between that returns one list."
            )


def _check_order(kind: str, stages: tuple[Stage, ...]) -> None:
    left = {stage.name: set(stage.after) for stage in stages}
    while left:
        free = [name for name, after in left.items() if not after & left.keys()]
        if not free:
            raise GraphInvalid(f"Stages {sorted(left)} of '{kind}' wait for each other in a circle.")
        for name in free:
            del left[name]


def children_of(definition: Definition, job_id: int, priority: int, delay_us: int) -> list[Child]:
    """Return the stages to be added below a new pipeline job; those that wait for nothing start after `delay_us`."""
    return [
        Child(
            job_id=job_id,
            parent_id=job_id,
            kind=definition.kind,
            stage=stage.name,
            terms=stage.terms,
            priority=priority,
            each_field=stage.each,
            delay_us=0 if stage.after else delay_us,
            unmet=len(set(stage.after)),
        )
        for stage in definition.stages
    ]
