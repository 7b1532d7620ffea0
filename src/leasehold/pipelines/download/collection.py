"""The pipeline as an app: one kind of job, a branch of its queue for each host, and the tools of a worker process."""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from leasehold import Job, Leasehold, Misuse, Retry, Task
from leasehold.clock import boot_id
from leasehold.pipelines.download import states
from leasehold.pipelines.download.fetch import WorkerResources
from leasehold.pipelines.download.files.content_store import ContentStore
from leasehold.pipelines.download.files.publisher import Publisher
from leasehold.pipelines.download.handler import Download
from leasehold.pipelines.download.http.client import Client, Options
from leasehold.pipelines.download.index.backends import IndexBackend, PostgresIndex, SqliteIndex
from leasehold.pipelines.download.index.index import Index
from leasehold.pipelines.download.limits import LEASE_SECONDS
from leasehold.pipelines.download.manifest import Artifact
from leasehold.pipelines.download.process.concurrency import ThreadPool
from leasehold.pipelines.download.process.shutdown import ShutdownGuard
from leasehold.pipelines.shell.locate import HOME, database_kind, database_url, local_database

KIND: Final = "artifact"
QUEUE: Final = "download"
DATABASE: Final = "download.db"
MEMORY: Final = "collection.json"  # what the folder remembers of its database
RETRY: Final = Retry(attempts=6, delay_initial=1, multiplier=3, delay_max=120, delay_ceiling=3_600)
PLAN_FIRST: Final = 250
PLAN_MAX: Final = 2_000
BRANCH_LENGTH_MAX: Final = 200
PER_HOST: Final = 6
THREADS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a collection lies and how its files are fetched. Headers may be secrets: they are never stored."""

    root: Path
    url: str = ""
    timeout: float = 60.0
    bytes_max: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def database(self) -> str:
        return self.url or local_database(self.root, DATABASE)

    def environment(self) -> dict[str, str]:
        options: dict[str, Any] = {"timeout": self.timeout, "bytes_max": self.bytes_max, "headers": dict(self.headers)}
        return {
            "LEASEHOLD_URL": self.database,
            "LEASEHOLD_DOWNLOAD_DIR": str(self.root.absolute()),
            "LEASEHOLD_DOWNLOAD_OPTIONS": json.dumps(options),
        }


def settings_of_this_process() -> Settings:
    if not (folder := os.environ.get("LEASEHOLD_DOWNLOAD_DIR")):
        raise Misuse("A worker needs the collection's folder: set LEASEHOLD_DOWNLOAD_DIR, and LEASEHOLD_URL.")
    options = json.loads(os.environ.get("LEASEHOLD_DOWNLOAD_OPTIONS", "{}"))
    return Settings(Path(folder), os.environ.get("LEASEHOLD_URL", ""), **options)


class Collection:
    """One folder with its database: an app, and the tools of this process, made when they are first needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.content_store = ContentStore(settings.root)
        if not settings.url:
            (settings.root / HOME).mkdir(parents=True, exist_ok=True)
        self.app = Leasehold(settings.database)
        self._lock = threading.Lock()
        self._tools: WorkerResources | None = None
        self.kind = declare(self.app, self._fetch)

    @property
    def tools(self) -> WorkerResources:
        with self._lock:
            if self._tools is None:
                self.content_store.make()
                given = self.settings
                client = Client(Options(given.timeout, given.bytes_max, given.headers))
                url, file = given.database, given.root / HOME / "index.db"
                backend = SqliteIndex(file) if url.startswith("sqlite:") else PostgresIndex(url)
                check_folder(backend, self.content_store)
                index = Index(backend)
                publisher = Publisher(self.content_store, index)
                self._tools = WorkerResources(
                    self.content_store, client, index, boot_id(), publisher, ThreadPool(THREADS_MAX), ShutdownGuard()
                )
            return self._tools

    async def _fetch(
        self,
        task: Task,
        work_id: str,
        artifact_id: str,
        url: str,
        sha256: str | None = None,
        filename: str | None = None,
    ) -> dict[str, Any]:
        return await Download(task, Artifact(work_id, artifact_id, url, sha256, filename), self.tools).run()

    def plan(self, artifacts: Iterable[Artifact], on_batch: Callable[[], object] = lambda: None) -> list[Job]:
        """Submit every artifact once, also if it was planned before. The first batch is small: workers wait for it."""
        found: list[Job] = []
        left = iter(artifacts)
        size = PLAN_FIRST
        while batch := list(islice(left, size)):
            found += self.app.submit_many(
                self.kind,
                [artifact.fields() for artifact in batch],
                keys=[artifact.key for artifact in batch],
                branches=[branch_of(artifact.host) for artifact in batch],
            )
            on_batch()
            size = min(size * 2, PLAN_MAX)
        return found

    def limit(self, per_host: int, rate: float | None = None) -> None:
        """Let so many files of each host be fetched at once, and so many a second, by all workers together."""
        self.app.queues.limit(f"{QUEUE}/*", per_host, rate=rate)

    def counts(self) -> dict[str, int]:
        found = self.app.machine.counts(KIND)
        return {state: found[state] for state in states.STATES if state in found}

    def close(self) -> None:
        if self._tools is not None:
            self._tools.threads.close()
            self._tools.publisher.close()
            self._tools.index.close()
            self._tools.client.close()
        self.app.close()


class FolderForeign(Misuse, code="FOLDER_FOREIGN"):
    """The jobs of this database belong to another folder; a folder has a database of its own."""


def check_folder(backend: IndexBackend, content_store: ContentStore) -> None:
    """Refuse a folder that is not the one whose jobs lie in this database, as where a share is not mounted."""
    mine = content_store.identity()
    backend.change(("folder/claim", {"id": mine}))
    if backend.read("folder/read", {})[0][0] != mine:
        backend.close()
        raise FolderForeign(
            f"This is {content_store.root.absolute()}. Is a share not mounted? Else use another database."
        )


def declare(app: Leasehold, handler: Callable[..., Any]) -> Any:
    machine = app.machine("artifact", dict(states.ARROWS), initial=states.PLANNED, failed=states.FAILED)
    return app.job(name=KIND, queue=QUEUE, retry=RETRY, lease=LEASE_SECONDS, machine=machine)(handler)


def branch_of(host: str) -> str:
    return host if len(host) <= BRANCH_LENGTH_MAX else f"host-{hashlib.sha256(host.encode()).hexdigest()}"


def app_of_this_process() -> Leasehold:
    return Collection(settings_of_this_process()).app


class CollectionMissing(Misuse, code="COLLECTION_MISSING"):
    """There is no collection in this folder."""


def open_existing(folder: Path, url: str = "") -> AbstractContextManager[Collection]:
    """Open a collection; raise if there is none in this folder."""
    if not (folder / HOME).is_dir():
        raise CollectionMissing(f"Make one with: leasehold download MANIFEST --out {folder}")
    return _open(Settings(folder, url))


@contextmanager
def open_collection(settings: Settings) -> Iterator[Collection]:
    """Open a collection, create it if necessary, and have its folder remember the kind of its database."""
    with _open(settings) as collection:
        if collection.settings.url:
            _remember(settings.root, database_kind(collection.settings.url))
        yield collection


@contextmanager
def _open(settings: Settings) -> Iterator[Collection]:
    with closing(Collection(with_database(settings))) as collection:
        collection.counts()  # raises the engine's own error if the database cannot be used
        yield collection


def with_database(settings: Settings) -> Settings:
    root = settings.root
    is_inside = (root / HOME / DATABASE).exists()
    return replace(settings, url=database_url(root, settings.url, _remembered(root), is_inside=is_inside))


def _remembered(root: Path) -> str:
    try:
        found = json.loads((root / HOME / MEMORY).read_text(encoding="utf-8")).get("database", "")
    except (OSError, ValueError, AttributeError):
        return ""
    return found if isinstance(found, str) else ""


def _remember(root: Path, kind: str) -> None:
    if _remembered(root) == kind:
        return
    (root / HOME).mkdir(parents=True, exist_ok=True)
    unfinished = root / HOME / f"{MEMORY}.{os.getpid()}"
    unfinished.write_text(json.dumps({"database": kind}), encoding="utf-8")
    unfinished.replace(root / HOME / MEMORY)
