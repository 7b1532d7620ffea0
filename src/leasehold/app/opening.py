"""The first touch of the database: a new one gets its schema, and the kinds known here are published."""

from __future__ import annotations

import threading

from leasehold.app.kinds import Registry
from leasehold.model.graph import Definition
from leasehold.store import Store


class Opening:
    """Gives out the store once it may be used."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._lock = threading.Lock()
        self._prepared = False
        self._published: dict[str, Definition] = {}

    @property
    def store(self) -> Store:
        """The store, ready for use."""
        if not self._prepared:
            with self._lock:
                self._store.prepare()
                self._prepared = True
        return self._store

    def published(self) -> Store:
        """The store, with every kind registered here made known to processes that have no handlers."""
        store = self.store
        for definition in self._registry.definitions():
            if self._published.get(definition.kind) != definition:
                store.tasks.publish(definition)
                self._published[definition.kind] = definition
        return store
