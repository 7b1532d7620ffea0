"""A PostgreSQL database for each test: on a server of the user, or on one that is started for the session.

A server that is started here ends with the process that started it, however that ends, and takes its folder with it.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from leasehold.testing.limits import SERVER_POLL_SECONDS, SERVER_START_SECONDS

VARIABLE: Final = "LEASEHOLD_TEST_POSTGRES_URL"
PROGRAMS: Final = "LEASEHOLD_TEST_PG_BIN"
FOLDERS: Final = ("/usr/lib/postgresql", "/usr/local/opt", "/opt/homebrew/opt", "/usr/pgsql")
# The shell outlives the process that started it by the time that the server needs to end: its input closes then.
KEEPER: Final = (
    '"$0" -D "$1/cluster" -k "$1" -h "" -F >"$1/log" 2>&1 & server=$!; read -r _; kill -INT $server; wait $server;'
    ' rm -rf "$1"'
)


class NoServer(Exception):
    """Why there is no PostgreSQL to test with."""


@contextmanager
def server() -> Iterator[str]:
    """Return the URL of a server: the one that LEASEHOLD_TEST_POSTGRES_URL names, or one of this machine's programs."""
    _check_driver()
    if named := os.environ.get(VARIABLE):
        yield named
        return
    folder = Path(tempfile.mkdtemp(prefix="leasehold-pg-"))
    account = _account()
    if account:
        os.chown(folder, account["user"], account["group"])
    try:
        with _started(_programs(), folder, account):
            yield _url(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def database(server_url: str) -> Iterator[str]:
    """Make a database of its own name on a server, and drop it at the end with whatever is still connected to it."""
    from leasehold.store.db.postgres import create_database, drop_database

    name = f"leasehold_test_{secrets.token_hex(6)}"
    create_database(server_url, name)
    try:
        yield _with_database(server_url, name)
    finally:
        drop_database(server_url, name)


def _url(folder: Path) -> str:
    return f"postgresql://postgres@/postgres?host={quote(str(folder))}"


def _check_driver() -> None:
    try:
        import leasehold.store.db.postgres  # noqa: F401 — whether its driver is there is the question
    except ImportError:
        raise NoServer("psycopg is missing: pip install 'leasehold[postgres]'") from None


def _with_database(url: str, name: str) -> str:
    parts = urlsplit(url)
    query = [(key, value) for key, value in parse_qsl(parts.query) if key != "dbname"]
    return urlunsplit(("postgresql", parts.netloc, f"/{name}", urlencode(query), ""))


def _programs() -> Path:
    """Find the folder that has initdb and postgres: the one that is named, or else on the path, or where they are."""
    if named := os.environ.get(PROGRAMS):
        folders = [Path(named)]
    else:
        folders = [Path(found).parent for found in (shutil.which("postgres"), shutil.which("initdb")) if found]
        folders += [one for folder in FOLDERS for one in sorted(Path(folder).glob("*/bin"), reverse=True)]
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise NoServer(f"no server was found ({named or 'not on the path'}); install one, or let {VARIABLE} name one")


def _account() -> dict[str, Any]:
    """Return who runs the server: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def _started(programs: Path, folder: Path, account: dict[str, Any]) -> Iterator[None]:
    made = ["-D", str(folder / "cluster"), "--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"]
    ran = subprocess.run(
        [programs / "initdb", *made], check=False, capture_output=True, text=True, cwd=folder, **account
    )
    if ran.returncode:
        raise NoServer(f"initdb of {programs} failed: {ran.stderr.strip()[-300:]}")
    command = ["sh", "-c", KEEPER, str(programs / "postgres"), str(folder)]
    keeper = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=folder, start_new_session=True, **account)
    try:
        _await_ready(keeper, folder)
        yield
    finally:
        keeper.communicate()


def _await_ready(keeper: subprocess.Popen[bytes], folder: Path) -> None:
    from leasehold.store.db.postgres import answers

    deadline = time.monotonic() + SERVER_START_SECONDS
    while not answers(_url(folder)):
        if keeper.poll() is not None or time.monotonic() > deadline:
            log = folder / "log"
            raise NoServer(f"the server did not start: {log.read_text(errors='replace').strip()[-300:]}")
        time.sleep(SERVER_POLL_SECONDS)
