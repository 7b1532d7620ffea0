"""A user who is not root: permissions count, and what a killed process of theirs has left opens for the next one."""

import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from leasehold.pipelines.download import Collection, Settings, read_manifest
from tests.pipelines.download.crash.killed_worker import NEVER, POWERLESS, start
from tests.support.processes.fork_server import ROOT
from tests.support.wait import until

LARGE = random.Random(21).randbytes(300_000)
SMALL = random.Random(22).randbytes(20_000)
BEFORE = 150_000
NOBODY = 65_534


def users():
    """Return the users that processes can be started as here. Root without its powers can do as little as others."""
    if os.geteuid() != 0:
        return [(os.geteuid(), [], {})]
    found: list[tuple[int, list[str], dict[str, Any]]] = [(0, [POWERLESS], {})]
    needed = [
        Path(one).resolve()
        for one in (sys.executable, os.__file__, apsw.__file__, ROOT / "a", f"{tempfile.gettempdir()}/a")
    ]
    if all(folder.stat().st_mode & 0o001 for path in needed for folder in path.parents):
        found.append((NOBODY, [], {"user": NOBODY, "group": NOBODY, "extra_groups": []}))
    return found


class Place:
    """A folder of somebody's, and processes of theirs."""

    def __init__(self, folder, user, words, options):
        self.settings = Settings(folder / "out")
        self.folder = folder
        self.user = user
        self._words = words
        self._options = options
        self._started = []

    def plan(self, url):
        """Plan one file, and hand everything over."""
        with closing(Collection(self.settings)) as collection:
            (job,) = collection.plan(read_manifest([url]))
            part = collection.content_store.part(job.key)
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, self.user, -1)
        return part

    def start(self, seam=NEVER):
        with (self.folder / "log").open("ab") as log:
            self._started.append(start(self.settings, seam, log, *self._words, **self._options))
        return self._started[-1]

    def log(self):
        return (self.folder / "log").read_text()

    def close(self):
        for worker in self._started:
            worker.kill()
            worker.wait()
        shutil.rmtree(self.folder)


@pytest.fixture(params=users(), ids=lambda found: f"user {found[0]}")
def place(request):
    with closing(Place(Path(tempfile.mkdtemp(prefix="leasehold-user-")), *request.param)) as made:
        yield made


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def check_whole(place, content):
    """See that the file is there, whole, theirs and read-only, and that nothing is left over."""
    with closing(Collection(place.settings)) as collection:
        (row,) = collection.tools.index.rows()
        assert (row.state, row.sha256) == ("INDEXED", hashlib.sha256(content).hexdigest())
        target = collection.content_store.object(row.sha256)
        assert target.read_bytes() == (place.settings.root / row.path).read_bytes() == content
        assert target.stat().st_uid == place.user
        assert list(collection.content_store.staging.iterdir()) == []
        assert collection.counts() == {"INDEXED": 1}
        return target


def test_a_part_of_a_killed_process_of_an_ordinary_user_is_built_on_by_the_next(place, server):
    part = place.plan(server.add("/a", LARGE, stall_after=[BEFORE]))
    worker = place.start()
    (line,) = until(lambda: server.stalled, timeout=120)
    until(lambda: part.stat().st_size >= line.sent, timeout=120)
    status = status_of(worker.pid)
    assert (status["Uid"].split()[1], int(status["CapEff"], 16)) == (str(place.user), 0)
    worker.kill()
    assert worker.wait() == -signal.SIGKILL
    size = part.stat().st_size
    assert place.start().wait() == 0, place.log()
    assert [(line.status, line.first) for line in server.gets("/a")] == [(200, 0), (206, size)]
    assert check_whole(place, LARGE).stat().st_mode & 0o777 == 0o444


@pytest.mark.parametrize("seam", ["synced", "linked", "unlinked", "forgotten"])
def test_what_an_ordinary_user_was_making_whole_when_killed_is_made_whole_by_the_next(place, server, seam):
    place.plan(server.add("/a", LARGE))
    assert place.start(seam).wait() == -signal.SIGKILL, place.log()
    assert place.start().wait() == 0, place.log()
    assert [(line.first, line.sent) for line in server.gets("/a")] == [(0, len(LARGE))]
    check_whole(place, LARGE)


@pytest.mark.parametrize("seam", [NEVER, "synced", "linked", "forgotten"])
def test_a_small_file_of_an_ordinary_user_becomes_whole_though_it_had_no_name(place, server, seam):
    place.plan(server.add("/a", SMALL))
    assert place.start(seam).wait() == (0 if seam == NEVER else -signal.SIGKILL), place.log()
    assert place.start().wait() == 0, place.log()
    assert check_whole(place, SMALL).stat().st_mode & 0o777 == 0o444
