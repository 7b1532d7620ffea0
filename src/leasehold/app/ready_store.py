"""The first use of the database: a new one gets its schema, and the kinds known here are published."""

import threading
import time
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field

from leasehold.app.kinds import KindRegistry
from leasehold.app.limits import DEFINITION_SECONDS
from leasehold.model.graph import Definition
from leasehold.store import Store


@dataclass(slots=True)
class _Use:
    """A store, and what is known of its database."""

    store: Store
    prepared: bool = False
    published: dict[str, Definition] = field(default_factory=dict)  # by this process
    present: set[str] = field(default_factory=set)  # kinds that somebody has published
    read: dict[str, tuple[float, Definition]] = field(default_factory=dict)


class ReadyStore:
    """Returns the store once its schema is checked."""

    def __init__(self, store: Store, registry: KindRegistry) -> None:
        self._use = _Use(store)
        self.registry = registry
        self._lock = threading.Lock()

    @property
    def store(self) -> Store:
        use = self._use
        if not use.prepared:
            with self._lock:
                use.store.prepare()
                use.prepared = True
        return use.store

    def replace(self, store: Store) -> Callable[[], None]:
        """Use another database from now on; return what puts the one before back."""
        before, self._use = self._use, _Use(store)

        def put_back() -> None:
            self._use = before

        return put_back

    def definition(self, kind: str) -> Definition | None:
        """The definition of a kind that another process published; cached for a few seconds."""
        cached = self._use.read
        read_at, found = cached.get(kind, (0.0, None))
        if found is None or time.monotonic() - read_at > DEFINITION_SECONDS:
            found = self.store.tasks.definition(kind)
            if found is not None:
                cached[kind] = (time.monotonic(), found)
        return found

    def published(self) -> Store:
        """The store, with every kind registered here published to processes without handlers."""
        store = self.store
        for definition in self.registry.definitions():
            self.publish(definition)
        return store

    def publish(self, definition: Definition) -> None:
        if self._use.published.get(definition.kind) != definition:
            self._write(definition)
            self._use.published[definition.kind] = definition

    def publish_new(self, definition: Definition) -> None:
        """Publish a kind that nobody has published: others can then submit it before its first worker has started.

        Inside a transaction of the caller this is done on another connection, so that no row of `kind` stays locked
        until the caller commits. SQLite has one writer: there it commits with the caller, and is not remembered.
        """
        use, store = self._use, self.store
        if definition.kind in use.published or definition.kind in use.present:
            return
        if store.database.is_bound and store.database.dialect.single_writer:
            self._write_new(definition)
        else:
            Context().run(self._write_new, definition)
            use.present.add(definition.kind)

    def _write_new(self, definition: Definition) -> None:
        """Publish, with its machine, what is not there; a machine may have got states since it was published."""
        found = self.store.tasks.definition(definition.kind)
        if found is None or (definition.machine is not None and found != definition):
            self._write(definition)

    def _write(self, definition: Definition) -> None:
        if definition.machine is not None:
            self.store.machines.publish(definition.machine)
        self.store.tasks.publish(definition)


class Operations:
    """A noun of the façade."""

    def __init__(self, ready_store: ReadyStore) -> None:
        self._ready_store = ready_store

    @property
    def _store(self) -> Store:
        return self._ready_store.store
