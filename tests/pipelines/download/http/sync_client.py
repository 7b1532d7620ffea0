"""The client for tests that wait: each call runs on an event loop of its own thread, as in a worker."""

import asyncio
import hashlib
import random
import threading
import time
from contextlib import closing

import pytest

from leasehold.model.failure.failure import classify
from leasehold.pipelines.download import fetch as fetching
from leasehold.pipelines.download.files.part import LockedPart
from leasehold.pipelines.download.http import client
from leasehold.pipelines.download.process.concurrency import ThreadPool

CONTENT = random.Random(11).randbytes(300_000)
SHA = hashlib.sha256(CONTENT).hexdigest()


class SyncClient:
    """A client whose calls return when they are done."""

    def __init__(self, options):
        self._real = client.Client(options)
        self._threads = ThreadPool(4)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def head(self, url):
        return self.wait(self._real.head(url))

    def open(self, url, start=0, validator=None):
        return self.wait(self._real.open(url, start, validator))

    def stream(self, url, head, part, on_progress=lambda *_: None):
        """Fetch what is missing of a part."""
        with closing(LockedPart(part.path)) as file:
            return self.wait(fetching.stream(self._real, url, head, part, file, on_progress, self._threads))

    def close(self):
        async def last():
            self._real.close()
            await asyncio.sleep(0)  # for what is closed on the loop itself

        self.wait(last())
        self._threads.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def fetch(client, url, part):
    """Ask what a file is like, and fetch what is missing of its part."""
    return client.stream(url, client.head(url), part)


def failure_of(client, url, part):
    """Fetch in vain, and return what the engine makes of it."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 — the test checks the class
        fetch(client, url, part)
    return classify(raised.value, now=int(time.time() * 1_000_000))


def leave_a_part(client, url, part, size):
    """Leave what an attempt that ended after so many bytes would have left."""
    part.path.write_bytes(CONTENT[:size])
    part.write(part.sidecar(client.head(url)))
