"""Who fetches, with which settings; and one fetch, measured from the start of a process to its end and then checked."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.downloads.server import Matter, tool

OURS, ARIA, WGET = "leasehold", "aria2c", "wget"
WITH_CONTROL_FILES = "aria2c, control files"
SECONDS_MAX = 600
MANY = 100
FORGETFUL = "--auto-save-interval=0"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # with it every start compiles every module, which an installed one never does


@dataclass(frozen=True, slots=True)
class Fetcher:
    """A program with its settings. `words`: the command that fetches a list of addresses into a folder."""

    name: str
    settings: str
    words: Callable[[Path, Path], list[str]]
    before: int = 0  # how often it is called on the same folder before it is measured


def leasehold(workers: int, per_host: int, before: int = 0) -> Fetcher:
    """Ours, as a person calls it."""

    def words(addresses: Path, folder: Path) -> list[str]:
        command = [sys.executable, "-m", "leasehold", "download", str(addresses), "--out", str(folder)]
        return [*command, "--workers", str(workers), "--per-host", str(per_host)]

    return Fetcher(OURS, f"--workers {workers} --per-host {per_host}", words, before)


def aria(*settings: str) -> Fetcher:
    """`aria2c` with these settings. By default it writes a control file for each file, and syncs that too."""

    def words(addresses: Path, folder: Path) -> list[str]:
        always = ["--no-conf", "--quiet", "--console-log-level=warn", "--file-allocation=none"]
        return [tool(ARIA), *always, *settings, f"--dir={folder}", f"--input-file={addresses}"]

    name = ARIA if FORGETFUL in settings else WITH_CONTROL_FILES
    return Fetcher(name, f"--file-allocation=none {' '.join(settings)}".strip(), words)


def wget() -> Fetcher:
    """`wget`: one process that fetches one file after the other."""

    def words(addresses: Path, folder: Path) -> list[str]:
        return [tool(WGET), "--no-config", "--quiet", f"--directory-prefix={folder}", f"--input-file={addresses}"]

    return Fetcher(WGET, "--input-file", words)


# The fastest of these in a trial is measured.
SMALL = {
    OURS: [leasehold(*how) for how in ((1, 64), (2, 250), (3, 300), (4, 400))],
    ARIA: [aria(f"-j{jobs}", "-x1", FORGETFUL) for jobs in (5, 16, 64)],
    WITH_CONTROL_FILES: [aria(f"-j{jobs}", "-x1") for jobs in (5, 16, 64)],
    WGET: [wget()],
}
LARGE = {
    OURS: [leasehold(workers, 6) for workers in (1, 2)],
    ARIA: [aria(f"-x{parts}", f"-s{parts}", FORGETFUL) for parts in (1, 4, 16)],
    WGET: [wget()],
}
RETRY = {OURS: [leasehold(2, 128, before=2)]}


class Wrong(Exception):
    """A fetch did not bring what it should have."""


def fetch(fetcher: Fetcher, matter: Matter) -> float:
    """Fetch everything into a fresh folder and return the seconds it took; `Wrong` if a byte is not as it should be.

    A folder of many files goes with the source's, at the end: ext4 looks past what was deleted in the last minutes when
    it makes a file, and the next tool after a deletion of thousands would pay for that.
    """
    folder = Path(tempfile.mkdtemp(prefix="fetched-", dir=matter.addresses.parent))
    for _ in range(fetcher.before):
        _call(fetcher, matter, folder)
    os.sync()  # what the last one left to be written is not this one's burden
    seconds = _call(fetcher, matter, folder)
    check(fetcher.name, folder, matter)
    if matter.count < MANY:
        shutil.rmtree(folder)
    return seconds


def _call(fetcher: Fetcher, matter: Matter, folder: Path) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        fetcher.words(matter.addresses, folder),
        check=False,
        env={name: value for name, value in os.environ.items() if name != NO_BYTECODE},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=SECONDS_MAX,
    )
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        raise Wrong(f"{fetcher.name} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return seconds


def check(name: str, folder: Path, matter: Matter) -> None:
    """See that every content is there and no other."""
    below = folder / "sha256" if name == OURS else folder
    found = {hashed(path) for path in below.rglob("*") if path.is_file()}
    if found != matter.hashes:
        raise Wrong(
            f"{name} brought {len(found & matter.hashes):,} of {matter.count:,} files, and {len(found):,} in all"
        )


def hashed(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
