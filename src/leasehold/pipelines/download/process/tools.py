"""What a worker process works with: made once for all its attempts."""

from dataclasses import dataclass

from leasehold.pipelines.download.files.content_store import ContentStore
from leasehold.pipelines.download.files.publisher import Publisher
from leasehold.pipelines.download.http.client import Client
from leasehold.pipelines.download.index.index import Index
from leasehold.pipelines.download.process.concurrency import ThreadPool
from leasehold.pipelines.download.process.shutdown import ShutdownGuard


@dataclass(frozen=True, slots=True)
class Tools:
    """The parts that attempts share."""

    content_store: ContentStore
    client: Client
    index: Index
    boot: str
    publisher: Publisher
    threads: ThreadPool
    shutdown: ShutdownGuard
