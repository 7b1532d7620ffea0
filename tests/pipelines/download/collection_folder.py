"""What the tests of a collection share: opening one again and again, as a person does, and filling it."""

import asyncio
import hashlib
import os
import time
from contextlib import closing, contextmanager

from click.testing import CliRunner

from leasehold.cli.root import root
from leasehold.pipelines.download.collection import Collection, Settings
from leasehold.pipelines.download.manifest import read_manifest
from leasehold.pipelines.download.run_loop import RunOptions, run, worker_spec
from leasehold.processes import WorkerProcesses


class Folder:
    """A collection's folder, on the database in it or on PostgreSQL."""

    def __init__(self, root, url=""):
        self.root = root
        self.url = url

    @contextmanager
    def opened(self, **options):
        with closing(Collection(Settings(self.root, self.url, **options))) as collection:
            yield collection

    def fetch(self, *lines):
        """Plan lines and run all that is there, in this process; return what became of each."""
        with self.opened() as collection:
            jobs = collection.plan(read_manifest(lines))
            collection.app.drain(timeout=120)
            return [job.state for job in jobs]

    def command(self, verb, *words, env=None):
        """Run a verb on the folder in this process."""
        where = ["--url", self.url] if self.url else []
        given = ["download", verb, str(self.root), *where, *map(str, words)]
        return CliRunner().invoke(root, given, env=env, prog_name="leasehold")

    def rows(self):
        with self.opened() as collection:
            return list(collection.tools.index.rows())

    def object(self, content):
        return self.root / "sha256" / sha(content)[:2] / sha(content)[2:]

    def put(self, content, name=None):
        """Lay a content among the whole files behind everybody's back."""
        path = self.object(content) if name is None else self.root / "sha256" / name[:2] / name[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    @property
    def staging(self):
        return self.root / ".leasehold" / "staging"


def run_workers(collection, count=1, **options):
    """Run a collection to its end in worker processes; return the last snapshot."""
    with WorkerProcesses(worker_spec(collection.settings), count) as workers:
        return run(collection, (), RunOptions(**options), workers)


def add_row(index, row):
    """Write a row to an index, and wait until it is committed."""

    async def add():
        return await index.add(row)

    return asyncio.run(add())


def sha(content):
    return hashlib.sha256(content).hexdigest()


def make_old(path, seconds=7_200):
    """Have a file look as if nobody had written to it for long."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def folder_of(dialect, request, tmp_path):
    """Return a folder on either database."""
    url = request.getfixturevalue("postgres").create_database() if dialect == "postgres" else ""
    return Folder(tmp_path / "out", url)
