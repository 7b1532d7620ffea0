"""A real PostgreSQL server for tests, made in a temporary folder and gone with it.

Owns its folder (cluster, socket, log) and its processes. It listens on a socket in that folder and, if asked,
on 127.0.0.1. It can be stopped, killed and started again; acknowledged commits survive all of these, because
`fsync=off` only gives up what a crash of the whole machine would take.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self
from urllib.parse import quote

import psutil
import psycopg
from psycopg import sql

from tests.support.databases.binaries import find_binaries, reachable_binaries, runs, server_account
from tests.support.databases.template import Session
from tests.support.memory import folder_in_memory
from tests.support.wait import until

STOP_SIGNALS = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}
READY_LINE = 7  # of postmaster.pid, where the server writes that it accepts connections
SEGMENT_LINE = 6  # of postmaster.pid: key and number of the shared memory that marks the cluster as in use
# Settings of a server that need not outlive its machine. A durable one has PostgreSQL's own defaults.
QUICK = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "256MB"}


class PostgresServer:
    """One server. `settings` may be changed between stop and start. `like`: one that has set its cluster aside."""

    def __init__(
        self,
        *,
        durable: bool = False,
        tcp: bool = False,
        binaries: Path | None = None,
        home: Path | None = None,
        like: PostgresServer | None = None,
    ) -> None:
        found = binaries or find_binaries()
        place = home or _home(in_memory=not durable and runs(found))
        self.folder = Path(tempfile.mkdtemp(prefix="leasehold-pg-", dir=place))
        self.guard = watch(self.folder)
        self.account = server_account()
        if self.account:
            os.chown(self.folder, self.account["user"], self.account["group"])
        self.binaries = reachable_binaries(found, self.folder / "programs")
        self.port = free_port() if tcp else 5432
        self.settings = {
            "listen_addresses": "127.0.0.1" if tcp else "",
            "unix_socket_directories": str(self.folder),
            "port": str(self.port),
            "max_connections": "300",
            # In files of the cluster, so that a killed server leaves nothing in /dev/shm.
            "dynamic_shared_memory_type": "mmap",
        } | ({} if durable else QUICK)
        self.pristine = self.folder / "pristine"  # the cluster as it was set aside
        self._like = like
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)

    @property
    def cluster(self) -> Path:
        return self.folder / "cluster"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> Self:
        """Start, on the data there is or on a new cluster, and return when connections are accepted."""
        if self.running:
            raise RuntimeError("the server is running already")
        if not self.cluster.exists():
            self._make_cluster()
        options = itertools.chain.from_iterable(("-c", f"{name}={value}") for name, value in self.settings.items())
        with (self.folder / "log").open("ab") as log:
            self._process = self._run("postgres", "-D", str(self.cluster), *options, log=log)
        until(self._accepts_connections)
        return self

    def set_aside(self) -> Self:
        """Make the cluster, and keep a copy for servers `like` this one: a copy takes a sixth of the time."""
        self._make_cluster()
        self._copy(self.cluster, self.pristine)
        return self

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """End the server as `pg_ctl stop -m MODE` does, and return when it is gone."""
        if self._process is not None:
            if self.running:
                self._process.send_signal(STOP_SIGNALS[mode])
            self._process.wait(timeout=60)
            self._process = None

    def kill(self) -> None:
        """SIGKILL the server and all its processes at once."""
        if self._process is None:
            return
        processes = [psutil.Process(self._process.pid)]
        processes += processes[0].children(recursive=True)
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):  # a backend that ended meanwhile
                process.kill()
        self._process.wait(timeout=60)
        self._process = None
        psutil.wait_procs(processes[1:], timeout=60)

    def restart(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """End the server and remove its folder."""
        self.stop("immediate")
        self._remove_shared_memory()
        shutil.rmtree(self.folder)
        self.guard.communicate()

    def url(self, database: str = "postgres", *, tcp: bool = False) -> str:
        if tcp:
            return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"
        return f"postgresql://postgres@/{database}?host={quote(str(self.folder))}&port={self.port}"

    def create_database(self, template: str | None = None, connection: Session | None = None) -> str:
        """Make a database of its own name and return its URL.

        Its files are copied, and a checkpoint made, in half the time in which all their blocks go through the log.
        """
        name = f"leasehold_{next(self._numbers)}"
        names = sql.Identifier(name), sql.Identifier(template or "template0")
        self._run_alone(sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(*names), connection)
        return self.url(name)

    def drop_database(self, url: str, connection: Session | None = None) -> None:
        """Drop the database of that URL and end its connections."""
        name = sql.Identifier(database_name(url))
        self._run_alone(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name), connection)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run_alone(self, statement: sql.Composed, connection: Session | None) -> None:
        """Run a statement that no transaction may hold, on the caller's connection or one of its own."""
        if connection is not None:
            connection.execute(statement)
            return
        with psycopg.connect(self.url(), autocommit=True) as own:
            own.execute(statement)

    def _make_cluster(self) -> None:
        if self._like is not None:
            self._copy(self._like.pristine, self.cluster)
            return
        with (self.folder / "log").open("ab") as log:
            options = ("--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
            made = self._run("initdb", "-D", str(self.cluster), *options, log=log).wait()
        if made != 0:
            raise RuntimeError(f"initdb failed:\n{self.log}")

    def _copy(self, source: Path, target: Path) -> None:
        subprocess.run(["cp", "-R", source, target], check=True, cwd="/", **self.account)  # noqa: S607

    def _run(self, program: str, *arguments: str, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.binaries / program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", ""), "TZ": "UTC", "LC_ALL": "C"},
            start_new_session=True,  # the terminal's Ctrl-C is for the tests, which then stop the server
            **self.account,
        )

    def _accepts_connections(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise RuntimeError(f"PostgreSQL did not start:\n{self.log[-4000:]}")
        lines = self._postmaster_lines()
        ready = ("ready", "standby")  # the second: it reads, and follows another
        return len(lines) > READY_LINE and lines[0] == str(self._process.pid) and lines[READY_LINE] in ready

    def _postmaster_lines(self) -> list[str]:
        try:
            return [line.strip() for line in (self.cluster / "postmaster.pid").read_text().splitlines()]
        except FileNotFoundError:
            return []

    def _remove_shared_memory(self) -> None:
        """A killed server leaves one small segment, which only its next start would have removed."""
        lines = self._postmaster_lines()
        if len(lines) > SEGMENT_LINE:
            segment = lines[SEGMENT_LINE].split()[-1]
            subprocess.run(["ipcrm", "-m", segment], check=False, capture_output=True)  # noqa: S607


def database_name(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def watch(folder: Path) -> subprocess.Popen[bytes]:
    """Have a folder, and the processes that work in it, removed when this process is gone or closes the pipe."""
    command = [sys.executable, str(Path(__file__).with_name("guard.py")), str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, cwd="/", start_new_session=True)


def _home(*, in_memory: bool) -> str:
    """Return where to put a server: in memory, if there is room, for databases in a tenth of the time."""
    if in_memory and (memory := folder_in_memory()):
        return str(memory)
    usual = tempfile.gettempdir()  # which may be too deep for a socket, whose path is limited to 107 bytes
    return usual if len(usual) < 60 else "/tmp"


def free_port() -> int:
    """Return a port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
