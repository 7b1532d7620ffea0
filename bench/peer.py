"""DBOS, as it is measured: installed by name on first use, run as one process on a fresh database of the same server.

Its rate is counted from the start of its first step to the end of its last, by its own table: the creation and the
settling of workflows is left out where it can be, in its favour.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support.databases.postgres import PostgresServer

HERE = Path(__file__).parent
HOME = HERE / ".peers" / "dbos"
PYTHON = HOME / ("Scripts" if os.name == "nt" else "bin") / "python"
SCRIPT = HERE / "peers" / "dbos_steps.py"
TIMEOUT_SECONDS = 600


class PeerMissing(Exception):
    """The peer cannot be installed here, so nothing is compared with it."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run workflows with DBOS, and its settings."""

    way: str
    flying: int
    threads: int
    pool: int = 20
    poll: float = 1.0

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.way}, {self.flying} in flight, {self.threads} threads, pool {self.pool}"

    @property
    def arguments(self) -> list[str]:
        """The environment of the script."""
        options = {"flying": self.flying, "threads": self.threads, "pool": self.pool, "poll": self.poll}
        return [self.way, *(f"--{name}={value}" for name, value in options.items())]


# The ways its documents offer, each near where it was fastest and some to both sides of it. More connections than
# threads change nothing; a queue without a limit of its own hands everything to the threads at once.
VARIANTS = (
    Variant("threads", flying=1, threads=1),
    Variant("threads", flying=4, threads=4),
    Variant("threads", flying=5, threads=5),
    Variant("threads", flying=20, threads=20),
    Variant("threads", flying=100, threads=100, pool=100),
    Variant("async", flying=10, threads=10),
    Variant("async", flying=20, threads=20),
    Variant("queue", flying=1_000, threads=4),
    Variant("queue-async", flying=20, threads=20, poll=0.1),
)


def install() -> str:
    """Make the peer's environment unless it is there, and return the peer's version."""
    version = _version()
    if not version:
        _run(sys.executable, "-m", "venv", "--clear", str(HOME))
        _run(str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "dbos")
        version = _version()
    if not version:
        raise PeerMissing("it was installed, but cannot be imported")
    return version


def _version() -> str:
    if not PYTHON.exists():
        return ""
    asking = "import dbos, importlib.metadata as m; print(m.version('dbos'))"
    return subprocess.run([PYTHON, "-c", asking], check=False, capture_output=True, text=True).stdout.strip()


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        printed = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise PeerMissing(f"`{' '.join(command[1:])}` failed: {printed[-1]}")


def steps(server: PostgresServer, variant: Variant, count: int, warm: int) -> float:
    """Run workflows of ten steps; return steps a second."""
    url = server.create_database()
    command: list[str | Path] = [PYTHON, SCRIPT, *variant.arguments, f"--count={count}", f"--warm={warm}"]
    subprocess.run(command, check=True, env=os.environ | {"PEER_URL": url}, timeout=TIMEOUT_SECONDS)
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*), min(started_at_epoch_ms), max(completed_at_epoch_ms) "
            "FROM dbos.operation_outputs WHERE workflow_uuid LIKE 'run-%' AND error IS NULL"
        ).fetchone()
    server.drop_database(url)
    taken, first, last = row or (0, 0, 0)
    if taken != 10 * count:
        raise RuntimeError(f"DBOS ({variant.name}) recorded {taken} of {10 * count} steps")
    return float(1_000 * taken / (last - first))
