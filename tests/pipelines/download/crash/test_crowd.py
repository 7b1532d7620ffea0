"""Two commands on one folder at once: they share the work, every file is fetched once, and both end well."""

import hashlib
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing

import psutil
import pytest

from leasehold.pipelines.download import Collection, Settings
from tests.support.db import check_journal, check_places
from tests.support.processes.fork_server import ROOT
from tests.support.wait import until

FILES = 60
WORKERS = 2


def order(manifest, out, database):
    """Start the command, as a person does."""
    words = [sys.executable, "-m", "leasehold", "download", str(manifest), "--out", str(out)]
    words += ["--workers", str(WORKERS), *(["--url", database] if database else [])]
    log = manifest.with_suffix(".log")
    with log.open("wb") as lines:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return log, subprocess.Popen(words, env=environment, stdout=lines, stderr=lines)


def is_at_work(log, command):
    if command.poll() is not None:
        raise RuntimeError(f"it ended with {command.returncode}:\n{log.read_text()}")
    return len(psutil.Process(command.pid).children()) >= WORKERS


def end_of(log, command):
    """Wait for the end, and return its output and its exit code."""
    code = command.wait()
    return log.read_text().strip(), code


def run_both(server, manifests, out, database):
    """Run two commands at once: no file is whole before both have their workers."""
    commands = [order(manifest, out, database) for manifest in manifests]
    try:
        until(lambda: all(is_at_work(*command) for command in commands), timeout=120)
        server.released.set()
        return [end_of(*command) for command in commands]
    finally:
        for _, command in commands:
            command.send_signal(signal.SIGINT)  # its workers end with it
            command.wait()


def serve(server, folder, spans):
    """Serve files that wait for a sign before they are whole, and write manifests of some of them each."""
    contents = {f"/{number}": random.Random(number).randbytes(3_000 + number) for number in range(FILES)}
    urls = [server.add(path, content, stall_after=[1], crumbs=1_000) for path, content in contents.items()]
    manifests = []
    for number, (first, last) in enumerate(spans):
        manifests.append(folder / f"manifest-{number}.txt")
        manifests[-1].write_text("\n".join(urls[first:last]))
    return contents, manifests


@pytest.mark.parametrize(
    "spans", [((0, FILES), (0, FILES)), ((0, 40), (20, FILES))], ids=["the same manifest", "manifests that overlap"]
)
def test_s4_two_commands_on_one_folder_fetch_every_file_once_and_both_end_well(server, database, tmp_path, spans):
    contents, manifests = serve(server, tmp_path, spans)
    out = tmp_path / "out"
    ended = run_both(server, manifests, out, database)
    assert [code for _, code in ended] == [0, 0], ended
    assert Counter(line.path for line in server.log if line.method == "GET") == dict.fromkeys(contents, 1)
    with closing(Collection(Settings(out, database))) as collection:
        assert collection.counts() == {"INDEXED": FILES}
        rows = {row.url.removeprefix(f"http://{server.host}"): row for row in collection.tools.index.rows()}
        assert {path: row.sha256 for path, row in rows.items()} == {
            path: hashlib.sha256(content).hexdigest() for path, content in contents.items()
        }
        assert all((out / row.path).read_bytes() == contents[path] for path, row in rows.items())
        check_places(collection.settings.database)
        check_journal(collection.settings.database)


def test_a_third_command_on_the_folder_reports_that_there_is_nothing_to_do(server, database, tmp_path):
    _, (manifest,) = serve(server, tmp_path, ((0, 10),))
    server.released.set()
    assert end_of(*order(manifest, tmp_path / "out", database))[1] == 0
    asked = len(server.log)
    log, code = end_of(*order(manifest, tmp_path / "out", database))
    assert (log[:13], code) == ("Nothing to do", 0)
    assert len(server.log) == asked
