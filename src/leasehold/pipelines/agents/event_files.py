"""Files of events: the NDJSON projection of streams. Rows are the truth; a file can always be made again from them."""

from collections.abc import Iterator

from leasehold.pipelines.agents.events import events_of
from leasehold.pipelines.agents.records.records import AgentRecords, Transaction


def lines_of(records: AgentRecords, parent_session_id: str) -> list[str]:
    """Return the lines of all streams of a session, by stream."""

    def work(transaction: Transaction) -> list[str]:
        return [line for stream in streams_of(transaction, parent_session_id) for line in bodies(transaction, stream)]

    return records.read(work)


def streams_of(transaction: Transaction, parent_session_id: str) -> Iterator[str]:
    return (row[0] for row in transaction.pages("stream/page", 0, "", parent_session_id=parent_session_id))


def bodies(transaction: Transaction, stream_id: str) -> Iterator[str]:
    return (event.body for event in events_of(transaction, stream_id))
