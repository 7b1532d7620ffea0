"""Export a job: the rows of one moment become the lines of `model/journal/record.py`."""

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
    LetterLine,
    Opening,
    OutcomeLine,
    RecordCodec,
    RecordCounts,
    TaskLine,
    TaskRecord,
    portable,
    value_of,
)
from leasehold.model.outbox import DeliveryRow
from leasehold.shapes import from_fields
from leasehold.store import Store
from leasehold.store.effects import EffectFacts
from leasehold.store.records import LetterFacts, OutcomeFacts, StoredTask


def export(store: Store, job_id: int, file: IO[bytes]) -> Closing:
    """Write a job's record to an empty file that can be rewound, and return its last line; or raise `JobUnknown`."""

    def write(parts: Iterator[StoredTask]) -> Closing:
        file.seek(0)
        file.truncate()
        codec, counts, builder = RecordCodec(), RecordCounts(), RecordBuilder()
        for number, part in enumerate(parts):
            if number == 0:
                file.write(codec.encode(opening_of(part)))
            record = builder.record(number, part)
            counts.add(record)
            file.writelines(codec.encode(line) for line in record.lines())
        if codec.head == RecordCodec().head:
            raise JobUnknown(f"The id is {job_id}.")
        closing = counts.closing()
        file.write(codec.encode(closing))
        return closing

    return store.records.read(job_id, write)


def opening_of(part: StoredTask) -> Opening:
    """Return the first line of the record of the job that this task is."""
    task = part.task
    return Opening(
        format=FORMAT, version=VERSION, kind=task.kind, key=task.key or "", payload=value_of(task.payload or "null")
    )


class RecordBuilder:
    """Turns rows into lines; workers are numbered in the order in which they appear."""

    def __init__(self) -> None:
        self._workers: dict[int, int] = {}

    def record(self, number: int, part: StoredTask) -> TaskRecord:
        task = part.task
        line = from_fields(
            TaskLine,
            task,
            task=number,
            stages=task.unmet if task.stage is None else 0,
            item=value_of(task.item),
            each=task.each_field,
            after=list(part.after),
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
        return from_fields(EventLine, event, task=number, worker=worker, detail=portable(event.detail))


def _effect(number: int, effect: EffectFacts) -> EffectLine:
    fields, result = value_of(effect.fields), value_of(effect.result)
    return from_fields(EffectLine, effect, task=number, fields=fields, result=result, failure=portable(effect.failure))


def _outcome(number: int, outcome: OutcomeFacts) -> OutcomeLine:
    output, failure = value_of(outcome.output), portable(outcome.failure)
    return from_fields(OutcomeLine, outcome, task=number, output=output, failure=failure, past=bool(outcome.past))


def _letter(number: int, letter: LetterFacts) -> LetterLine:
    failure, escalated = portable(letter.failure), bool(letter.escalated)
    return from_fields(LetterLine, letter, task=number, failure=failure, escalated=escalated)


def _delivery(number: int, delivery: DeliveryRow) -> DeliveryLine:
    message, failure = value_of(delivery.message), portable(delivery.failure)
    return from_fields(DeliveryLine, delivery, task=number, message=message, failure=failure)
