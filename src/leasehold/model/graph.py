"""A pipeline as data: its stages, what each waits for, and what must hold before it may be submitted."""

from msgspec import Struct

from leasehold.errors import GraphInvalid
from leasehold.model.limits import STAGES_MAX
from leasehold.model.machine import Machine
from leasehold.model.task import Child, Terms


class Stage(Struct, frozen=True):
    """One stage: `after` names the stages it waits for; `each` the list field of the first of them to fan out over."""

    name: str
    terms: Terms
    after: tuple[str, ...] = ()
    each: str | None = None


class Definition(Struct, frozen=True):
    """What a kind is: the terms of a plain job, or the stages of a pipeline; published for those without handlers."""

    kind: str
    terms: Terms
    stages: tuple[Stage, ...] = ()
    machine: Machine | None = None


def check_graph(kind: str, stages: tuple[Stage, ...]) -> None:
    """Raise `GraphInvalid` unless every stage can run once all before it are done."""
    if len(stages) > STAGES_MAX:
        raise GraphInvalid(f"Pipeline '{kind}' has {len(stages)} stages; the limit is {STAGES_MAX}.")
    known = {stage.name for stage in stages}
    for stage in stages:
        if stage.name in stage.after:
            raise GraphInvalid(f"Stage '{stage.name}' of '{kind}' waits for itself.")
        if unknown := [name for name in stage.after if name not in known]:
            raise GraphInvalid(f"Stage '{stage.name}' of '{kind}' waits for '{unknown[0]}', which does not exist.")
        if stage.each is not None and not stage.after:
            raise GraphInvalid(f"Stage '{stage.name}' of '{kind}' has each='{stage.each}' but waits for no stage.")
    _check_order(kind, stages)


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
