"""Jobs: submit, also as versions of one job, cancel, and the published kinds."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, json, structs

from leasehold.errors import DatabaseUnavailable, KeyConflict, VersionPruned, VersionStale
from leasehold.model.graph import Definition, children_of
from leasehold.model.limits import GROUP_BYTES_MAX, SUBMIT_MAX
from leasehold.model.task import Child, Submission, Submitted
from leasehold.shapes import Shape
from leasehold.store.db.copy import copy_in
from leasehold.store.db.database import Noun, Session
from leasehold.store.db.documents import document, flat_document
from leasehold.store.db.limits import COPY_MIN
from leasehold.store.db.wake import DUE

CANCEL_PASSES = 100

_definition = Shape[Definition](Definition)


class CancelCount(Struct, frozen=True):
    """How many tasks a cancel ended at once, and how many running ones it asked to stop."""

    ended: int
    asked: int


class Tasks(Noun):
    def submit(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Add plain jobs, all or none; one that is there already is returned as it is. In the order given."""
        run = self._database.perform if len(submissions) == 1 else self._database.transact
        return run(lambda session: _submit_all(session, submissions))

    def submit_new(self, submissions: Sequence[Submission]) -> list[Submitted]:
        """Like `submit`, for jobs with keys that were just generated: many of them are added faster."""
        is_first = len(submissions) >= COPY_MIN and not any(one.delay_us or one.unmet for one in submissions)

        def work(session: Session) -> list[Submitted]:
            nonlocal is_first
            if not (is_first and session.supports_copy):
                return _submit_all(session, submissions)  # finds what an unanswered COMMIT may have written
            is_first = False
            return copy_in(session, submissions)

        return self._database.transact(work) if is_first else self.submit(submissions)

    def submit_pipelines(self, submissions: Sequence[Submission], definition: Definition) -> list[Submitted]:
        """Add a pipeline's jobs with their stages, all or none; one that is there already is returned as it is."""
        return self._database.transact(lambda session: add_jobs(session, submissions, definition))

    def submit_version(self, submission: Submission, definition: Definition, key: str, version: int) -> Submitted:
        """Add a version of a job, or return the job of that version; `VersionStale` if a newer one was submitted.

        `VersionPruned` if it was submitted before and pruned: its result is gone, and it is not run again.
        `submission.key` is the key of this version; `key` the one that all versions share.
        """

        def work(session: Session) -> Submitted:
            known = session.run("tasks/known_version", kind=submission.kind, key=key)
            newest = session.run("tasks/add_version", kind=submission.kind, key=key, version=version)[0][0]
            if newest > version:
                raise VersionStale(f"Kind '{submission.kind}', key {key!r}: {newest} is the newest, this is {version}.")
            job = add_jobs(session, [submission], definition)[0]
            if job.created and known and known[0][0] == version:
                raise VersionPruned(f"Kind '{submission.kind}', key {key!r}, version {version}.")
            return job

        return self._database.transact(work)

    def cancel(self, job_id: int, reason: str) -> CancelCount:
        """Cancel a job with all its tasks and all jobs below it. `reason` is canonical JSON of a failure."""
        ended = asked = 0
        for _ in range(CANCEL_PASSES):
            row = self._database.write("tasks/cancel", job=job_id, reason=reason)[0]
            ended, asked = ended + row[0], asked + row[1]
            # A claim, a fan-out or a linked job that was being committed is visible only to the next pass.
            if self._database.read("tasks/cancellable", job=job_id)[0][0] == 0:
                break
        return CancelCount(ended, asked)

    def publish(self, definition: Definition) -> None:
        """Store a kind for processes without its handlers."""
        text = json.encode(definition, order="sorted").decode("utf-8")
        known = self._database.read("tasks/find_kind", name=definition.kind)
        if not known or known[0][0] != text:
            self._database.write("tasks/publish", name=definition.kind, definition=text)

    def definition(self, kind: str) -> Definition | None:
        return self._database.read_transaction(lambda session: definition_of(session, kind))

    def kinds(self) -> list[str]:
        """List the published kinds, the first ones by name."""
        return [name for (name,) in self._database.read("tasks/list_kinds")]


def definition_of(session: Session, kind: str) -> Definition | None:
    found = session.run("tasks/find_kind", name=kind)
    return _definition.decode(found[0][0]) if found else None


def wake_hints(definition: Definition, submissions: Sequence[Submission]) -> set[str]:
    """Return what to wake when these jobs are committed: the queues that got work, and who waits for a time."""
    first = {stage.terms.queue for stage in definition.stages if not stage.after}
    queues = first or {one.terms.queue for one in submissions}
    is_timed = definition.deadline_us is not None or any(one.delay_us for one in submissions)
    return ({DUE} if is_timed else set()) | (set() if all(one.delay_us for one in submissions) else queues)


def add_jobs(session: Session, submissions: Sequence[Submission], definition: Definition) -> list[Submitted]:
    """Add jobs, and the stages of those that are new, in an open transaction."""
    jobs = _submit_all(session, submissions)
    for job, submission in zip(jobs, submissions, strict=True):
        if job.created:
            _add_stages(session, job.id, submission, definition)
    return jobs


def _submit_all(session: Session, submissions: Sequence[Submission]) -> list[Submitted]:
    answers: dict[tuple[str, str], Submitted] = {}
    for batch in _batches(submissions):
        _add(session, batch, answers)
        answers |= _existing(session, [one for one in batch if (one.kind, one.key) not in answers])
        if pruned := [one for one in batch if (one.kind, one.key) not in answers]:  # between the two statements
            _add(session, pruned, answers)
    return _in_order(submissions, answers)


def _add(session: Session, batch: Sequence[Submission], answers: dict[tuple[str, str], Submitted]) -> None:
    is_one = len(batch) == 1 and not (batch[0].delay_us or batch[0].unmet)
    if is_one:
        one, terms = batch[0], structs.asdict(batch[0].terms)
        fields = {"kind": one.kind, "key": one.key, "payload": one.payload, "priority": one.priority}
        rows = session.run("tasks/submit_one", **fields, **terms)
    else:
        rows = session.run("tasks/submit", jobs=flat_document(batch))
    new = {(kind, key): task_id for task_id, kind, key in rows}
    for one in batch:
        if (one.kind, one.key) in new:
            submitted = Submitted(new[one.kind, one.key], one.kind, one.key, one.payload, created=True)
            answers.setdefault((one.kind, one.key), submitted)


def _batches(submissions: Sequence[Submission]) -> Iterator[list[Submission]]:
    batch: list[Submission] = []
    size = 0
    for one in submissions:
        if batch and (len(batch) == SUBMIT_MAX or size + len(one.payload) > GROUP_BYTES_MAX):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one.payload)
    if batch:
        yield batch


def _in_order(submissions: Sequence[Submission], answers: dict[tuple[str, str], Submitted]) -> list[Submitted]:
    found: list[Submitted] = []
    for one in submissions:
        answer = answers.get((one.kind, one.key))
        if answer is None:
            raise DatabaseUnavailable(
                f"Job {one.kind} {one.key!r} is being submitted by another transaction; try again."
            )
        if answer.payload != one.payload:
            raise KeyConflict(f"It is job {answer.id}, kind '{one.kind}', key {one.key!r}.")
        found.append(answer)
        if answer.created:  # the same key again in this batch is then an existing job
            answers[one.kind, one.key] = Submitted(answer.id, one.kind, one.key, one.payload, created=False)
    return found


def _existing(session: Session, wanted: Iterable[Submission]) -> dict[tuple[str, str], Submitted]:
    keys = [{"kind": one.kind, "key": one.key} for one in wanted]
    if not keys:
        return {}
    rows = session.run("tasks/find_by_key", keys=document(keys))
    return {(row[1], row[2]): Submitted(row[0], row[1], row[2], row[3], created=False) for row in rows}


def _add_stages(session: Session, job_id: int, submission: Submission, definition: Definition) -> None:
    stages = children_of(definition, job_id, submission.priority, submission.delay_us)
    ids = {stage: task_id for task_id, stage in add_children(session, stages)}
    needs = [
        {"task_id": ids[stage.name], "on_task_id": ids[name], "number": number}
        for stage in definition.stages
        for number, name in enumerate(dict.fromkeys(stage.after))
    ]
    if needs:
        session.run("tasks/need", needs=document(needs))


def add_children(session: Session, parts: Sequence[Child]) -> list[tuple[int, str]]:
    """Add stages or segments; return their ids and stages."""
    added: list[tuple[int, str]] = []
    for start in range(0, len(parts), SUBMIT_MAX):
        rows = session.run("tasks/spawn", children=flat_document(parts[start : start + SUBMIT_MAX]))
        added.extend((row[0], row[1]) for row in rows)
    return added
