"""A job's record, written: the rows of one moment turned into the lines of `model/journal/record.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from leasehold.errors import JobUnknown
from leasehold.model.journal.event import Event
from leasehold.model.journal.record import (
    FORMAT,
    VERSION,
    Closing,
    DeliveryLine,
    EffectLine,
    EventLine,
    HashChain,
    LetterLine,
    Opening,
    OutcomeLine,
    RecordCounts,
    TaskLine,
    TaskRecord,
    portable,
    value_of,
)
from leasehold.store import Store
from leasehold.store.records import DeliveryFacts, EffectFacts, LetterFacts, OutcomeFacts, StoredTask


def export(store: Store, job_id: int, file: IO[bytes]) -> Closing:
    """Write a job's record to an empty file that can be rewound, and return its last line; or raise `JobUnknown`."""

    def write(parts: Iterator[StoredTask]) -> Closing:
        file.seek(0)
        file.truncate()
        seal, tally, teller = HashChain(), RecordCounts(), RecordBuilder()
        for number, part in enumerate(parts):
            if number == 0:
                file.write(seal.close(opening_of(part)))
            story = teller.story(number, part)
            tally.see(story)
            file.writelines(seal.close(line) for line in story.lines())
        if seal.head == HashChain().head:
            raise JobUnknown(f"The id is {job_id}.")
        closing = tally.closing()
        file.write(seal.close(closing))
        return closing

    return store.records.read(job_id, write)


def opening_of(part: StoredTask) -> Opening:
    """Return the first line of the record of the job that this task is."""
    task = part.task
    return Opening(
        format=FORMAT, version=VERSION, kind=task.kind, key=task.key or "", payload=value_of(task.payload or "null")
    )


class RecordBuilder:
    """Turns rows into lines; remembers which worker appeared first."""

    def __init__(self) -> None:
        self._workers: dict[int, int] = {}

    def story(self, number: int, part: StoredTask) -> TaskRecord:
        """Tell one task, which gets this number."""
        task = part.task
        line = TaskLine(
            task=number,
            stages=task.unmet if task.stage is None else 0,
            stage=task.stage,
            segment=task.segment,
            epoch=task.epoch,
            item=value_of(task.item),
            each=task.each_field,
            after=list(part.after),
            queue=task.queue,
            priority=task.priority,
            attempts_max=task.attempts_max,
            lease_ms=task.lease_ms,
            on_lost=task.on_lost,
            created_at=task.created_at,
        )
        effects = sorted(part.effects, key=lambda one: (one.number, one.key))
        deliveries = sorted(part.deliveries, key=lambda one: (one.subject, one.recipient, one.version))
        return TaskRecord(
            line,
            [self._event(number, one) for one in part.events],
            [_effect(number, one) for one in effects],
            [_outcome(number, one) for one in part.outcomes],
            [_letter(number, one) for one in part.letters],
            [_delivery(number, one) for one in deliveries],
        )

    def _event(self, number: int, event: Event) -> EventLine:
        worker = None if event.worker is None else self._workers.setdefault(event.worker, len(self._workers) + 1)
        return EventLine(
            task=number,
            at=event.at,
            name=event.name,
            fence=event.fence,
            attempt=event.attempt,
            worker=worker,
            detail=portable(event.detail),
        )


def _effect(number: int, effect: EffectFacts) -> EffectLine:
    return EffectLine(
        task=number,
        number=effect.number,
        kind=effect.kind,
        key=effect.key,
        fields=value_of(effect.fields),
        fence=effect.fence,
        attempt=effect.attempt,
        result=value_of(effect.result),
        failure=portable(effect.failure),
        intended_at=effect.intended_at,
        recorded_at=effect.recorded_at,
    )


def _outcome(number: int, outcome: OutcomeFacts) -> OutcomeLine:
    return OutcomeLine(
        task=number,
        epoch=outcome.epoch,
        fence=outcome.fence,
        status=outcome.status,
        output=value_of(outcome.output),
        failure=portable(outcome.failure),
        finished_at=outcome.finished_at,
        past=bool(outcome.past),
    )


def _letter(number: int, letter: LetterFacts) -> LetterLine:
    return LetterLine(
        task=number,
        epoch=letter.epoch,
        fence=letter.fence,
        error_class=letter.error_class,
        failure=portable(letter.failure),
        attempts=letter.attempts,
        first_failure_at=letter.first_failure_at,
        last_failure_at=letter.last_failure_at,
        escalated=bool(letter.escalated),
        state=letter.state,
    )


def _delivery(number: int, delivery: DeliveryFacts) -> DeliveryLine:
    return DeliveryLine(
        task=number,
        subject=delivery.subject,
        recipient=delivery.recipient,
        version=delivery.version,
        message=value_of(delivery.message),
        provider=delivery.provider,
        status=delivery.status,
        attempts=delivery.attempts,
        notification_id=delivery.notification_id,
        notified_at=delivery.notified_at,
        failure=portable(delivery.failure),
        created_at=delivery.created_at,
    )
