"""An app on another database for a while: how a module-level app is tested."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from leasehold.app.facade import Leasehold
from leasehold.app.moved import moving
from leasehold.store import open_store


@contextmanager
def elsewhere(app: Leasehold, url: str) -> Iterator[Leasehold]:
    """Have an app, and so the handlers that it decorated, use the database of `url` until the block ends.

    What it had open stays open and is used again afterwards. Its connections to the other database are closed then.
    Isolated handlers, and other programs that are started meanwhile, find the same database under the app's own URL.
    """
    store = open_store(url)
    before = app.url, app.store
    put_back = app._ready_store.replace(store)  # noqa: SLF001 — an app has one database, except in tests
    app.url, app.store = url, store
    try:
        with moving(before[0], url):
            yield app
    finally:
        put_back()
        app.url, app.store = before
        store.close()


class AdoptingApp(Leasehold):
    """The app of the fixture `leasehold_app`: it may adopt other apps for the length of a test."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._adopted: dict[int, Leasehold] = {id(self): self}
        self._leaving = ExitStack()

    def adopt(self, app: Leasehold) -> Leasehold:
        """Have `app` and its handlers use this app's database, with its clock, until this one is closed."""
        if id(app) not in self._adopted:
            self._leaving.enter_context(elsewhere(app, self.url))
            self._adopted[id(app)] = app
        return app

    def close(self) -> None:
        """Put every adopted app back to its own database, and close every connection."""
        self._leaving.close()
        self._adopted = {id(self): self}
        super().close()
