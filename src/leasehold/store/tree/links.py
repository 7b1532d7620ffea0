"""Linked jobs: made once under the lease of the task that submits them, and found again from either end."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from leasehold import canonical
from leasehold.errors import KeyConflict, KindUnknown, LeaseholdError, OptionInvalid, Unavailable
from leasehold.model.effect import Entry
from leasehold.model.limits import LINK_DEPTH_MAX, PAGE_MAX
from leasehold.model.task import Submission, Submitted
from leasehold.model.tree.link import Link, LinkAnswer
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document
from leasehold.store.tasks import add_jobs, definition_of, wake_hints


class Lineage(Struct, frozen=True):
    """Where a linked job belongs."""

    parent_job_id: int
    root_id: int


class TreeJob(Struct, frozen=True):
    """A job of a tree; `depth` counts from 0. `spent`: an object of amounts by name, as JSON."""

    id: int
    parent_job_id: int | None
    depth: int
    kind: str
    key: str
    status: str
    spent: str | None


class _Found(Struct, frozen=True):
    """What a link finds: whether its task shall stop, where it stands in the tree, and the child that is there."""

    task_id: int
    fence: int
    key: str
    stopped: bool
    root_id: int
    depth: int
    child: int | None
    kind: str | None
    payload: str | None


class Links(Noun):
    def add(self, links: Sequence[Link]) -> list[Entry]:
        """Make linked jobs, each once; those missing in the answer have lost their lease."""
        return [Entry(*row) for row in self._database.transact(lambda session: link_all(session, links))]

    def of(self, job_id: int) -> Lineage | None:
        found = self._list(Lineage, "links/of_job", job=job_id)
        return found[0] if found else None

    def children(self, job_id: int, most: int = PAGE_MAX) -> list[Submitted]:
        rows = self._database.read("links/children", job=job_id, most=most)
        return [Submitted(row[0], row[1], row[2], row[3], created=False) for row in rows]

    def tree(self, job_id: int, most: int = PAGE_MAX) -> list[TreeJob]:
        """List a job and all jobs below it, each after its parent."""
        return self._list(TreeJob, "links/tree", job=job_id, most=most)


def link_all(session: Session, links: Sequence[Link]) -> list[Row]:
    """Make linked jobs in an open transaction, one after the other. One that is refused does not stop the others."""
    if not links:
        return []
    found = {(one.task_id, one.fence, one.key): one for one in _hold(session, links)}
    rows: list[Row] = []
    for link in links:
        held = found.get((link.task_id, link.fence, link.key))
        if held is not None:
            rows.append((link.task_id, link.fence, link.key, *_answer(session, link, held)))
    return rows


def _hold(session: Session, links: Sequence[Link]) -> list[_Found]:
    items = [{"job_id": one.job_id, "key": one.key, "task_id": one.task_id, "fence": one.fence} for one in links]
    return [_Found(*row) for row in session.run("links/hold", links=document(items))]


def _answer(session: Session, link: Link, held: _Found) -> tuple[LinkAnswer, str | None]:
    try:
        if held.child is not None:
            return LinkAnswer.AGAIN, _result(_same(link, held))
        return (LinkAnswer.STOPPED, None) if held.stopped else _make(session, link, held)
    except Unavailable:
        raise
    except LeaseholdError as error:
        return LinkAnswer.REFUSED, canonical.encode({"code": error.code, "detail": error.detail})


def _same(link: Link, held: _Found) -> int:
    """Return the child that an earlier call has made; `KeyConflict` if that was for something else."""
    if held.child is None or (held.kind, held.payload) != (link.kind, link.payload):
        raise KeyConflict(f"It is job {held.child}, kind '{held.kind}', linked under the key {link.name!r}.")
    return held.child


def _make(session: Session, link: Link, held: _Found) -> tuple[LinkAnswer, str]:
    if held.depth >= LINK_DEPTH_MAX:
        raise OptionInvalid(f"Jobs are linked at most {LINK_DEPTH_MAX} deep; this would be one deeper.")
    definition = definition_of(session, link.kind)
    if definition is None:
        raise KindUnknown(f"The kind is '{link.kind}'. A worker publishes its kinds when it starts.")
    definition.check_fields(canonical.decode(link.payload))
    terms, unmet = definition.terms, len(definition.stages)
    submission = Submission(link.kind, link.child_key, link.payload, terms, link.priority, link.delay_us, unmet)
    (child,) = add_jobs(session, [submission], definition)
    if not child.created:  # by an earlier try that was committed since we looked, or by somebody else
        (now,) = _hold(session, [link])
        return LinkAnswer.AGAIN, _result(_same(link, now))
    if definition.deadline_us is not None:
        session.run("deadlines/add", jobs=document([child.id]), after_us=definition.deadline_us)
    names = {"job": link.job_id, "task": link.task_id, "fence": link.fence, "key": link.key, "name": link.name}
    place = {"child": child.id, "root": held.root_id, "depth": held.depth + 1, "detail": link.detail(child.id)}
    session.run("links/add", **names, **place)
    return LinkAnswer.LINKED, _result(child.id, sorted(wake_hints(definition, [submission])))


def _result(child: int, wake: Sequence[str] = ()) -> str:
    fields: dict[str, Any] = {"id": child, "wake": list(wake)} if wake else {"id": child}
    return canonical.encode(fields)
