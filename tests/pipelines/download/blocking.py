"""The client and the stream for tests that wait: each call runs on a loop of its own thread, as in a worker."""

import asyncio
import threading
from contextlib import closing

from leasehold.pipelines.download import fetch
from leasehold.pipelines.download.files.part_file import LockedPart
from leasehold.pipelines.download.http import client
from leasehold.pipelines.download.process.concurrency import ThreadPool


class Client:
    """A client whose calls return when they are done."""

    def __init__(self, options):
        self._real = client.Client(options)
        self._hands = ThreadPool(4)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def head(self, url):
        return self.wait(self._real.head(url))

    def open(self, url, start=0, validator=None):
        return self.wait(self._real.open(url, start, validator))

    def stream(self, url, head, part, tell):
        with closing(LockedPart(part.path)) as draft:
            return self.wait(fetch.stream(self._real, url, head, part, draft, tell, self._hands))

    def close(self):
        async def last():
            self._real.close()
            await asyncio.sleep(0)  # for what is closed on the loop itself

        self.wait(last())
        self._hands.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def stream(client, url, head, part, tell):
    """Fetch what is missing of a part."""
    return client.stream(url, head, part, tell)
