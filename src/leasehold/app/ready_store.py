"""The first use of the database: a new one gets its schema, and the kinds known here are published."""

import threading
import time
from typing import Final

from leasehold.app.kinds import KindRegistry
from leasehold.model.graph import Definition
from leasehold.store import Store

CACHE_SECONDS: Final = 5.0


class ReadyStore:
    """Returns the store once its schema is checked."""

    def __init__(self, store: Store, registry: KindRegistry) -> None:
        self._store = store
        self.registry = registry
        self._lock = threading.Lock()
        self._prepared = False
        self._published: dict[str, Definition] = {}
        self._read: dict[str, tuple[float, Definition]] = {}

    @property
    def store(self) -> Store:
        if not self._prepared:
            with self._lock:
                self._store.prepare()
                self._prepared = True
        return self._store

    def definition(self, kind: str) -> Definition | None:
        """The definition of a kind that another process published; cached for a few seconds."""
        read_at, found = self._read.get(kind, (0.0, None))
        if found is None or time.monotonic() - read_at > CACHE_SECONDS:
            found = self.store.tasks.definition(kind)
            if found is not None:
                self._read[kind] = (time.monotonic(), found)
        return found

    def published(self) -> Store:
        """The store, with every kind registered here published to processes without handlers."""
        store = self.store
        for definition in self.registry.definitions():
            self.publish(definition)
        return store

    def publish(self, definition: Definition) -> None:
        if self._published.get(definition.kind) != definition:
            if definition.machine is not None:
                self.store.machines.publish(definition.machine)
            self.store.tasks.publish(definition)
            self._published[definition.kind] = definition


class Operations:
    """A noun of the façade."""

    def __init__(self, ready_store: ReadyStore) -> None:
        self._ready_store = ready_store

    @property
    def _store(self) -> Store:
        return self._ready_store.store
