"""Dead letters: list, remedy, revive, resolve. Each action and its line in the audit trail are one transaction.

A revival moves the old outcome unchanged to `outcome_past` and starts the task's next epoch. It blocks orchestrators
while it counts, so that every end is counted exactly once.
"""

import builtins
import secrets
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, structs

from leasehold import canonical, errors
from leasehold.model import advance, revival
from leasehold.model.advance import Ended
from leasehold.model.failure.failure import Failure
from leasehold.model.limits import PAGE_MAX
from leasehold.model.revival import Case, JobTask, JobTasks, LetterState, Need
from leasehold.model.status import Status
from leasehold.shapes import from_fields
from leasehold.store.audit import AuditLine, add_line
from leasehold.store.db.database import Noun, Row, Session
from leasehold.store.db.documents import document
from leasehold.store.stages import StageSteps

NOUN = "dead_letter"
DID_NOT_HAPPEN = Failure("DID_NOT_HAPPEN", "an operator found that this did not happen").text()


class LetterRow(Struct, frozen=True):
    """One dead letter; `job_status` is None while its job is under way."""

    id: int
    task_id: int
    job_id: int
    kind: str
    stage: str | None
    segment: int | None
    epoch: int
    fence: int
    error_class: str
    attempts: int
    attempts_max: int
    first_failure_at: int
    last_failure_at: int
    escalated: bool
    state: str
    job_status: str | None
    evidenced: bool
    unanswered: int
    losses: int
    failure: str

    @property
    def case(self) -> Case:
        """The facts that decide whether it may be revived."""
        return from_fields(Case, self, letter_id=self.id)


class DeadLetterSource(Struct, frozen=True):
    """What a letter was made from; texts are canonical JSON."""

    letter: LetterRow
    failure: str
    key: str
    payload: str


class LetterFilter(Struct, frozen=True):
    """Matches letters by all fields that are set."""

    kind: str | None = None
    stage: str | None = None
    error_class: str | None = None
    state: str | None = None
    escalated: bool | None = None
    before: int | None = None


class Revived(Struct, frozen=True):
    """What a revival did: the task's new epoch (the job's, from start), how many tasks moved, which queues got work."""

    letter_id: int
    job_id: int
    task_id: int
    epoch: int
    tasks: int
    queues: frozenset[str]


class ReviveRequest(Struct, frozen=True):
    """One request to revive. `nonce` identifies it, in case its COMMIT stays without an answer."""

    letter_id: int
    principal: str
    from_start: bool
    nonce: str


class DeadLetters(Noun):
    def list(self, where: LetterFilter, most: int = 50) -> builtins.list[LetterRow]:
        return self._list(_letter, "deadletters/list", **structs.asdict(where), most=most)

    def get(self, letter_id: int) -> DeadLetterSource:
        """Read one letter, or raise `LetterUnknown`."""
        return _source(self._database.read("deadletters/get", letter=letter_id), letter_id)

    def of(self, job_id: int, task_id: int | None = None, most: int = PAGE_MAX) -> builtins.list[LetterRow]:
        return self._list(_letter, "deadletters/of_task", job=job_id, task=task_id, most=most)

    def count(self) -> tuple[int, int]:
        row = self._database.read("deadletters/count")[0]
        return int(row[0]), int(row[1])

    def scope(self, letter: LetterRow) -> JobTasks:
        """Read the tasks that a revival of this letter is about."""
        return self._database.transact(lambda session: _scope(session, letter))

    def segments(self, job_id: int) -> dict[str, dict[str, int]]:
        """Count how the segments of each stage ended."""
        found: dict[str, dict[str, int]] = {}
        for stage, status, count in self._database.read("deadletters/segments", job=job_id):
            found.setdefault(stage, {})[status] = count
        return found

    def evidence(self, letter_id: int, principal: str, detail: dict[str, Any]) -> None:
        """Record what was done to remedy an open letter."""

        def work(session: Session) -> None:
            letter = _read(session, letter_id)
            if letter.state != LetterState.OPEN:
                raise errors.LetterRevived(f"Letter {letter_id} is {letter.state}.")
            add_line(session, principal, "evidence", NOUN, letter_id, detail)

        self._database.transact(work)

    def answer(self, letter_id: int, key: str, principal: str, result: str | None) -> None:
        """Record what an operator knows of an effect in doubt: it happened with this result, or (None) it did not."""

        def work(session: Session) -> None:
            letter = _read(session, letter_id)
            if not _answer(session, "deadletters/answer_effect", key, result, letter=letter_id, job=letter.job_id):
                raise errors.EffectSettled(f"Letter {letter_id} is {letter.state}; the effect is {key[:16]}.")
            add_line(session, principal, "answer", NOUN, letter_id, {"effect": key, "happened": result is not None})

        self._database.transact(work)

    def answer_cancelled(self, job_id: int, key: str, principal: str, result: str | None) -> None:
        def work(session: Session) -> None:
            if not _answer(session, "deadletters/close_effect", key, result, job=job_id):
                problem = f"Job {job_id} was not cancelled, or is still stopping"
                raise errors.EffectSettled(f"{problem}; the effect is {key[:16]}.")
            add_line(session, principal, "answer", "job", job_id, {"effect": key, "happened": result is not None})

        self._database.transact(work)

    def revive(self, letter_id: int, principal: str, *, from_start: bool = False) -> Revived:
        """Start the failed task's next epoch; `LetterRevived` for all but one of several requests at once."""
        if self._database.is_bound:
            raise errors.Misuse(
                "A revival blocks orchestrators, so it needs its own transaction and cannot be part of yours."
            )
        request = ReviveRequest(letter_id, principal, from_start, secrets.token_hex(8))
        return self._database.transact(lambda session: _revive(session, request))

    def resolve(self, letter_id: int, principal: str, notes: str) -> None:
        """Close a letter that was revived and whose job is DONE, or one whose job was cancelled."""

        def work(session: Session) -> None:
            letter = _read(session, letter_id)
            _check_resolvable(letter)
            if not session.run("deadletters/resolve", letter=letter_id, state=letter.state):
                raise errors.LetterRevived(f"Letter {letter_id} was resolved by another.")
            add_line(session, principal, "resolve", NOUN, letter_id, {"notes": notes})

        self._database.transact(work)


def _letter(*row: Any) -> LetterRow:
    return structs.replace(LetterRow(*row), escalated=bool(row[13]), evidenced=bool(row[16]))


def _source(rows: Sequence[Row], letter_id: int) -> DeadLetterSource:
    if not rows:
        raise errors.LetterUnknown(f"The id is {letter_id}.")
    return DeadLetterSource(_letter(*rows[0][:-2]), *rows[0][-3:])


def _read(session: Session, letter_id: int) -> LetterRow:
    return _source(session.run("deadletters/get", letter=letter_id), letter_id).letter


def _answer(session: Session, statement: str, key: str, result: str | None, **where: int) -> bool:
    failure = DID_NOT_HAPPEN if result is None else None
    return bool(session.run(statement, key=key, result=result, failure=failure, **where))


def _check_resolvable(letter: LetterRow) -> None:
    if letter.state == LetterState.RESOLVED:
        raise errors.LetterRevived(f"Letter {letter.id} is resolved.")
    if letter.job_status == Status.CANCELLED:  # it is never revived, so a person may close it
        if letter.state == LetterState.OPEN and letter.unanswered:  # they can be answered only while the letter is open
            raise errors.EffectUnanswered(f"See `leasehold effects {letter.job_id}`; {letter.unanswered} to answer.")
        return
    if letter.state == LetterState.OPEN:
        raise errors.LetterOpen(f"Letter {letter.id} is open: revive it, and resolve it once its job is DONE.")
    if letter.job_status != Status.DONE:
        where = f"is {letter.job_status}" if letter.job_status else "is still under way"
        raise errors.JobUnfinished(f"Job {letter.job_id} {where}; a letter is resolved when its job is DONE.")


def _scope(session: Session, letter: LetterRow) -> JobTasks:
    members = session.run("deadletters/revive_scope", job=letter.job_id, task=letter.task_id)
    needs = session.run("deadletters/revive_needs", job=letter.job_id)
    tasks = [structs.replace(JobTask(*row), fans_out=bool(row[4]), pending=bool(row[8])) for row in members]
    return JobTasks(tasks, [Need(*row) for row in needs])


def _revive(session: Session, request: ReviveRequest) -> Revived:
    session.run("deadletters/revive_lock")
    letter = _read(session, request.letter_id)
    if letter.state != LetterState.OPEN and (done_before := _done_before(session, request)) is not None:
        return done_before
    if (refused := revival.refusal(letter.case)) is not None:
        raise refused
    if not session.run("deadletters/take", letter=letter.id):
        raise errors.LetterRevived(f"Letter {letter.id} was revived by another.")
    # crash here: taken but not placed
    # Nothing is committed: the letter is open again.
    done = _place(session, letter, request)
    # crash here: placed but not noted
    # The same: the new epoch and its line in the audit trail come together.
    did = {**structs.asdict(done), "queues": sorted(done.queues)}
    detail = {"did": did, "from_start": request.from_start, "nonce": request.nonce}
    add_line(session, request.principal, "revive", NOUN, request.letter_id, detail)
    return done


def _done_before(session: Session, request: ReviveRequest) -> Revived | None:
    """Return what this very request has done already, if its COMMIT stayed without an answer."""
    lines = [AuditLine(*row) for row in session.run("audit/list", noun=NOUN, noun_id=request.letter_id, most=PAGE_MAX)]
    for detail in (canonical.decode(line.detail) for line in lines if line.action == "revive"):
        if detail["nonce"] == request.nonce:
            return Revived(**{**detail["did"], "queues": frozenset(detail["did"]["queues"])})
    return None


def _place(session: Session, letter: LetterRow, request: ReviveRequest) -> Revived:
    session.run("deadlines/remove", jobs=document([letter.job_id]))  # it was for the life that ended
    session.run("deadletters/revive_hold", job=letter.job_id)
    job = _scope(session, letter)
    subject = job.member(letter.task_id)
    moves = revival.moves_of(job, letter.case, from_start=request.from_start)
    detail = {"letter": letter.id, "principal": request.principal}
    if request.from_start:
        session.run("deadletters/revive_supersede", job=letter.job_id, detail=canonical.encode(detail))
    items = [
        {**structs.asdict(move), "detail": canonical.encode({**detail, "epoch": _next_epoch(job.member(move.task_id))})}
        for move in moves
    ]
    rows = session.run("deadletters/revive", moves=document(items), letter=letter.id)
    queues = {queue for _, _, place, queue in rows if place == revival.RevivalPlace.READY}
    if subject.fans_out and not request.from_start:
        queues |= _fan_out(StageSteps(session), subject.id)
    begun = job.root if request.from_start else subject
    return Revived(letter.id, letter.job_id, begun.id, _next_epoch(begun), len(rows), frozenset(queues))


def _fan_out(stages: StageSteps, task_id: int) -> set[str]:
    """Add the segments of a stage that waits for nothing else, or end it; return the queues that got work."""
    for stage in stages.fan_out_sources([task_id]):
        match advance.fan_out(stage):
            case Ended() as end:
                stages.conclude([end])
            case segments:
                stages.spawn(segments)
                stages.count_down({stage.id: len(segments)})
                return {stage.queue}
    return set()


def _next_epoch(task: JobTask) -> int:
    return (task.epoch or 0) + 1
