"""A connection to PostgreSQL that is kept, because to open one costs the server more than most of what it is asked."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

Session = psycopg.Connection[tuple[object, ...]]


class Kept:
    """One connection, opened when first needed. A caller that finds it taken gets another."""

    def __init__(self, connect: Callable[[], Session]) -> None:
        self._connect = connect
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._session: Session | None = None

    @contextmanager
    def lent(self) -> Iterator[Session]:
        """Lend it. After an error it is not kept: nobody shall meet what another has left in it."""
        if os.getpid() != self._process or not self._turn.acquire(blocking=False):
            with self._connect() as session:
                yield session
            return
        try:
            if self._session is None:
                self._session = self._connect()
            yield self._session
        except BaseException:
            self.close()
            raise
        finally:
            self._turn.release()

    def close(self) -> None:
        """Hang up. The next who asks opens another."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
