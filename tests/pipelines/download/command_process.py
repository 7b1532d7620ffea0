"""`leasehold download` as a person runs it: a process of its own, with its output in a file."""

import os

from leasehold.pipelines.download.collection import Settings
from tests.support.db import rows
from tests.support.processes.workers import command_process

STEERING = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERM")


def download_command(folder, lines, *words, terminal=None):
    """The command with these lines for a manifest; it is not left behind. `terminal`: where its errors go."""
    manifest, log = folder.root.with_name("manifest"), folder.root.with_name("output")
    manifest.write_text("\n".join(lines))
    where = ["--url", folder.url] if folder.url else []
    given = ["download", str(manifest), "--out", str(folder.root), *where, *words]
    environment = {name: value for name, value in os.environ.items() if name not in STEERING}
    return command_process(given, log, terminal=terminal, env={**environment, "TERM": "xterm"})


def workers(folder):
    """Return the numbers of all worker processes that the database has ever known."""
    return [number for (number,) in query(folder, "SELECT id FROM worker ORDER BY id")]


def query(folder, statement):
    """Ask the database of a collection, behind the engine's back."""
    return rows(Settings(folder.root, folder.url).database, statement)
