"""`leasehold download` as a person runs it: a process of its own, with its output in a file."""

import os
from contextlib import contextmanager

from leasehold.pipelines.download.collection import Settings
from tests.support.db import rows
from tests.support.processes.fork_server import start_module
from tests.support.processes.workers import WorkerProcess

STEERING = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERM")


@contextmanager
def ordered(folder, lines, *words, terminal=None):
    """The command with these lines for a manifest; it is not left behind. `terminal`: where its errors go."""
    manifest, log = folder.root.with_name("manifest"), folder.root.with_name("output")
    manifest.write_text("\n".join(lines))
    where = ["--url", folder.url] if folder.url else []
    given = ["download", str(manifest), "--out", str(folder.root), *where, *words]
    known = {name: value for name, value in os.environ.items() if name not in STEERING}
    with log.open("wb") as output:
        errors = output if terminal is None else terminal
        process = start_module("leasehold", *given, env={**known, "TERM": "xterm"}, stdout=output, stderr=errors)
    command = WorkerProcess(process, log)
    try:
        yield command
    finally:
        if command.running:
            command.kill()


def workers(folder):
    """Return the numbers of all worker processes that the database has ever known."""
    return [number for (number,) in known(folder, "SELECT id FROM worker ORDER BY id")]


def known(folder, statement):
    """Ask the database of a collection, behind the engine's back."""
    return rows(Settings(folder.root, folder.url).database, statement)
