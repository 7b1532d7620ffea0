"""What tests of `verify` share: edited rows and records, and the difference that is reported."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
from msgspec import structs

from leasehold.insight.record import Recording, read_lines
from leasehold.insight.verify.verify import verify_file, verify_job
from leasehold.model.journal.record import Line, RecordCodec, RecordCounts, TaskRecord
from tests.store.work import connect


def edit(store, *statements: str) -> None:
    """Run plain SQL on the database, on a connection of one's own."""
    with connect(store) as connection:
        if isinstance(connection, psycopg.Connection):
            connection.execute("SET search_path = leasehold")
        for statement in statements:
            connection.execute(statement)


def difference(store, job_id: int) -> str:
    return verify_job(store, job_id).difference


def forge(app, job_id: int, folder: Path, change: Callable[[list[TaskRecord]], None]) -> str:
    """Export a job, change its tasks, renew numbers, counts and hashes; return the difference that verify reports."""
    path = folder / "forged.ndjson"
    with path.open("w+b") as file:
        app.journal.export(job_id, file)
    assert verify_file(path).difference == ""
    recording = Recording(read_lines(path))
    records = list(recording.records())
    change(records)
    codec, counts = RecordCodec(), RecordCounts()
    written = [codec.encode(recording.opening)]
    for number, record in enumerate(records):
        fresh = TaskRecord(record.task)
        for line in _numbered(record, number):
            written.append(codec.encode(line))
            if line is not record.task and line.__struct_config__.tag != "task":
                fresh.add(line)
        counts.add(fresh)
    path.write_bytes(b"".join([*written, codec.encode(counts.closing())]))
    return verify_file(path).difference


def _numbered(record: TaskRecord, number: int) -> Iterator[Line]:
    for line in record.lines():
        yield structs.replace(line, task=number)


def swap(lines: list, which: int, **fields) -> None:
    """Put other fields into one line of a task."""
    lines[which] = structs.replace(lines[which], **fields)
