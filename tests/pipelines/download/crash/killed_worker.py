"""A worker process that kills itself at a seam, where no handler and no `finally` runs any more.

    python -m tests.pipelines.download.crash.killed_worker linked [powerless]

It does all that there is to do in the collection that its environment names; at a seam that never comes it does not
die. A process that is `powerless` may do with its files what their permissions allow, though it is root's.
"""

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any

from leasehold.pipelines.download import Collection
from leasehold.pipelines.download.collection import THREADS_MAX, settings_of_this_process
from leasehold.pipelines.download.fetch import WorkerResources
from leasehold.pipelines.download.files.content_store import ContentStore
from leasehold.pipelines.download.process.concurrency import ThreadPool
from tests.support.processes.fork_server import ROOT, start_module

NEVER = "never"
POWERLESS = "powerless"
CAPABILITIES_VERSION = 0x20080522


def pass_by(seam, wanted):
    if seam == wanted:
        os.kill(os.getpid(), signal.SIGKILL)


class KilledPart:
    """All bytes of a file, whose process dies after writing them."""

    def __init__(self, publishable, seam):
        self._publishable = publishable
        self._seam = seam

    @property
    def size(self):
        return self._publishable.size

    def start_writeback(self):
        self._publishable.start_writeback()

    def fsync(self):
        return self._publishable.fsync()

    def link(self, target):
        pass_by("synced", self._seam)
        self._publishable.link(target)
        pass_by("linked", self._seam)

    def replace(self, target):
        pass_by("compared", self._seam)
        self._publishable.replace(target)
        pass_by("replaced", self._seam)

    def finish(self):
        self._publishable.finish()
        pass_by("unlinked", self._seam)


class KilledContentStore(ContentStore):
    """A folder whose process dies while a file becomes whole."""

    def __init__(self, root, seam):
        super().__init__(root)
        self._seam = seam

    def publish_all(self, part_files):
        killed: list[Any] = [(KilledPart(part_file, self._seam), sha256) for part_file, sha256 in part_files]
        return super().publish_all(killed)

    def name(self, work_id, wanted, key, sha256):
        pass_by("forgotten", self._seam)
        name = super().name(work_id, wanted, key, sha256)
        pass_by("named", self._seam)
        return name


class KilledThreadPool(ThreadPool):
    """Threads whose process dies before or after they read or sync a part, while its bytes still come."""

    def __init__(self, seam):
        super().__init__(THREADS_MAX)
        self._seam = seam

    async def do(self, act):
        name = getattr(act, "func", act).__name__

        def killed():
            pass_by(f"before {name}", self._seam)
            answer = act()
            pass_by(f"after {name}", self._seam)
            return answer

        return await super().do(killed)


class KilledCollection(Collection):
    """A collection with such tools."""

    def __init__(self, settings, seam):
        super().__init__(settings)
        self.content_store = KilledContentStore(settings.root, seam)
        self._seam = seam

    @cached_property
    def tools(self) -> WorkerResources:
        return replace(super().tools, threads=KilledThreadPool(self._seam))


def start(settings, seam, log, *words, **options):
    """Start such a process. `options`: those of `subprocess.Popen`, such as another user."""
    environment = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT)}
    module = "tests.pipelines.download.crash.killed_worker"
    if options:
        program = [sys.executable, "-m", module, seam, *words]
        return subprocess.Popen(program, env=environment, stdout=log, stderr=log, **options)
    return start_module(module, seam, *words, env=environment, stdout=log, stderr=log)


def give_up_power():
    """Have permissions count for this process as for anybody; before it has threads, which would keep theirs."""
    header, none = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def main():
    seam, *words = sys.argv[1:]
    if POWERLESS in words:
        give_up_power()
    with closing(KilledCollection(settings_of_this_process(), seam)) as collection:
        collection.app.drain(timeout=300)


if __name__ == "__main__":
    main()
