"""Where streams of events are read from: a folder of NDJSON files, or a session's rows. Nothing is written."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from leasehold.canonical import VALUE_BYTES_MAX
from leasehold.pipelines.agents.errors import EventFolderInvalid
from leasehold.pipelines.agents.event_files import KINDS, SUFFIX, streams_of
from leasehold.pipelines.agents.events import events_of
from leasehold.pipelines.agents.records.records import AgentRecords, Transaction
from leasehold.pipelines.agents.sessions import read_session

LINE_BYTES_MAX: Final = VALUE_BYTES_MAX


@dataclass(frozen=True, slots=True)
class StreamLine:
    """A line of a stream. `file` is its path in the folder; None for a row. The end of a line is not part of it."""

    stream_id: str
    file: str | None
    number: int
    text: bytes
    is_torn: bool = False


def lines_of_folder(folder: Path) -> Iterator[StreamLine]:
    """Yield the lines of `copilot/`, `urm_audit/` and `child/`, parents before their children, by name."""
    kinds = sorted(KINDS, key=lambda kind: kind == "child")
    found = [(kind, path) for kind in kinds for path in sorted((folder / kind).glob(f"*{SUFFIX}"))]
    if not found:
        raise EventFolderInvalid(f"{folder} has none.", folder=str(folder))
    for kind, path in found:
        if path.is_symlink() or not path.is_file():
            raise EventFolderInvalid(f"{kind}/{path.name} is not a regular file.", folder=str(folder))
        yield from _lines_of_file(path, kind)


def _lines_of_file(path: Path, kind: str) -> Iterator[StreamLine]:
    stream_id, file_name = f"{kind}:{path.name.removesuffix(SUFFIX)}", f"{kind}/{path.name}"
    with path.open("rb") as file:
        number = 0
        while text := file.readline(LINE_BYTES_MAX + 1):
            number += 1
            yield StreamLine(stream_id, file_name, number, text.removesuffix(b"\n"), not text.endswith(b"\n"))
            if len(text) > LINE_BYTES_MAX:  # not one of ours; what follows is no beginning of a line
                return


def lines_of_session(records: AgentRecords, parent_session_id: str) -> Iterator[StreamLine]:
    """Yield the stored events of a session, of one state of the database."""

    def work(transaction: Transaction) -> list[StreamLine]:
        read_session(transaction, parent_session_id)
        streams = sorted(streams_of(transaction, parent_session_id), key=lambda stream: stream.startswith("child:"))
        return [
            StreamLine(stream, None, number, event.body.encode())
            for stream in streams
            for number, event in enumerate(events_of(transaction, stream), start=1)
        ]

    yield from records.read(work)
