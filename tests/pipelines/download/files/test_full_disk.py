"""A disk that is full in the middle of files: they wait for room, nothing wrong becomes a file, nothing is lost."""

import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
from contextlib import closing

import pytest

from leasehold.pipelines.download import Collection, Settings, read_manifest
from tests.support.db import check_journal, check_places, rows
from tests.support.disks.small_disk import small_disk
from tests.support.needs import MOUNT
from tests.support.processes.fork_server import ROOT
from tests.support.wait import until

FILES = 2
SIZE = 24_000_000  # more than can be under way between server and worker
BEFORE = 4_000_000
MEGABYTES = 64
SMALL_FILES = 6  # as many as are fetched at once
SMALL_SIZE = 60_000
FILE_MAX = 4_000_000


@pytest.fixture(params=[MOUNT.param(MEGABYTES)])
def disk(request):
    with small_disk(request.param) as made:
        yield made


@pytest.fixture
def start(tmp_path):
    """Start the program, with its words in one log; whatever still runs at the end is stopped as by Ctrl-C."""
    started = []

    def start_it(words, **more):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **more}
        words = [sys.executable, "-m", "leasehold", *words]
        with (tmp_path / "log").open("ab") as log:
            started.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log))
        return started[-1]

    yield start_it
    for one in started:
        one.send_signal(signal.SIGINT)
        one.wait()


def contents_of(number, size):
    return {f"/{one}": random.Random(one).randbytes(size) for one in range(number)}


def classes(settings):
    """Return the class and the words of every failed attempt."""
    return [detail for (detail,) in rows(settings.database, "SELECT detail FROM event WHERE name = 'retried'")]


def wrong(root):
    """Return the files under a hash that is not theirs."""
    found = [path for path in (root / "sha256").rglob("*") if path.is_file()]
    return [path for path in found if hashlib.sha256(path.read_bytes()).hexdigest() != path.parent.name + path.name]


def check_whole(settings, contents):
    """See that every file is there and right, and the database sound."""
    with closing(Collection(settings)) as collection:
        found = {row.url.rpartition("/")[2]: row for row in collection.tools.index.rows()}
        assert {f"/{name}": (settings.root / row.path).read_bytes() for name, row in found.items()} == contents
        assert list(collection.content_store.staging.iterdir()) == []
    check_places(settings.database)
    check_journal(settings.database)
    if settings.database.startswith("sqlite"):
        assert rows(settings.database, "PRAGMA integrity_check") == [("ok",)]


def test_s3_a_disk_that_is_full_in_the_middle_of_files_makes_them_wait_for_room(
    server, disk, start, database, tmp_path
):
    """With its own database on the same disk nothing can even be noted; with PostgreSQL, each attempt records why."""
    contents = contents_of(FILES, SIZE)
    manifest, log = tmp_path / "manifest.txt", tmp_path / "log"
    manifest.write_text("\n".join(server.add(path, one, stall_after=[BEFORE]) for path, one in contents.items()))
    settings = Settings(disk.folder / "out", database)
    words = ["download", str(manifest), "--out", str(settings.root), *(["--url", database] if database else [])]
    command = start(words)
    until(lambda: len(server.stalled) == FILES, timeout=120)
    disk.fill()
    server.released.set()
    until(lambda: server.idle, timeout=120)
    assert [line.path for line in server.log if line.sent == SIZE] == [], "there was room for it"
    if database:
        until(lambda: sum('"DISK_FULL"' in row for row in classes(settings)) >= FILES, timeout=120)
    assert command.poll() is None, log.read_text()
    assert [path for path in (settings.root / "sha256").rglob("*") if path.is_file()] == []
    disk.clear()
    command.send_signal(signal.SIGINT)
    command.wait()
    assert start(words).wait() == 0, log.read_text()
    assert wrong(settings.root) == []
    check_whole(settings, contents)


def test_s3_small_files_that_have_no_part_wait_for_room_as_well(server, disk, start, database, tmp_path):
    contents = contents_of(SMALL_FILES, SMALL_SIZE)
    manifest, log = tmp_path / "manifest.txt", tmp_path / "log"
    manifest.write_text(
        "\n".join(server.add(path, one, stall_after=[1], crumbs=SMALL_SIZE // 2) for path, one in contents.items())
    )
    settings = Settings(disk.folder / "out", database)
    words = ["download", str(manifest), "--out", str(settings.root), *(["--url", database] if database else [])]
    command = start(words)
    until(lambda: len(server.stalled) == SMALL_FILES, timeout=120)
    disk.fill()
    server.released.set()
    until(lambda: server.idle, timeout=120)
    if database:
        until(lambda: sum('"DISK_FULL"' in row for row in classes(settings)) >= SMALL_FILES, timeout=120)
    assert command.poll() is None, log.read_text()
    assert [path for path in (settings.root / "sha256").rglob("*") if path.is_file()] == []
    disk.clear()
    command.send_signal(signal.SIGINT)
    command.wait()
    assert start(words).wait() == 0, log.read_text()
    assert wrong(settings.root) == []
    check_whole(settings, contents)


def test_s3_a_file_that_is_larger_than_a_process_may_write_waits_until_it_may(server, start, database, tmp_path):
    """As with a quota: a write fails, though there is room; the worker lives on, and the part is built on."""
    contents = contents_of(1, FILE_MAX * 3 // 2)
    settings = Settings(tmp_path / "out", database)
    with closing(Collection(settings)) as collection:
        (job,) = collection.plan(read_manifest([server.add("/0", contents["/0"], stall_after=[1])]))
        worker = start(["worker", "leasehold.pipelines.download"], **settings.environment())
        until(lambda: server.stalled, timeout=120)
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (FILE_MAX, resource.RLIM_INFINITY))
        server.released.set()
        until(lambda: classes(settings), timeout=120)
        assert '"DISK_FULL"' in classes(settings)[0], classes(settings)
        assert wrong(settings.root) == []
        resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        until(lambda: job.status.settled, timeout=120)
        worker.terminate()
        assert worker.wait() == 0
        assert job.state == "INDEXED"
    assert [line.first for line in server.gets("/0")][:2] == [0, FILE_MAX]
    check_whole(settings, contents)
