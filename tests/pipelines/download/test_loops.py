"""The workers of a download run on uvloop where that is installed, and on asyncio's own loop where it is not."""

import subprocess
import sys
from pathlib import Path

import pytest

from leasehold.pipelines.download import read_manifest
from leasehold.pipelines.download.run_loop import worker_spec
from leasehold.processes import WorkerProcesses
from tests.pipelines.download.command_process import download_command
from tests.support.wait import until

CONTENT = bytes(200_000)
WITHOUT = """
import asyncio, sys
sys.modules["uvloop"] = None
from leasehold.processes import use_uvloop
use_uvloop()
loop = asyncio.new_event_loop()
print(type(loop).__module__.partition(".")[0])
loop.close()
"""


def has_loaded_it(process):
    return "uvloop" in Path(f"/proc/{process.pid}/maps").read_text()


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_worker_that_the_command_forks_has_the_faster_loop(folder, server):
    with download_command(folder, [server.add("/a", CONTENT, stall_after=[1])], "--workers", "1") as command:
        until(lambda: server.stalled, timeout=120)
        assert any(has_loaded_it(child) for child in command.system.children())
        server.released.set()
        assert command.end() == 0


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_worker_that_python_starts_has_it_too(collection, server):
    collection.plan(read_manifest([server.add("/a", CONTENT, stall_after=[1])]))
    with WorkerProcesses(worker_spec(collection.settings), 1) as workers:
        workers.start()
        until(lambda: server.stalled, timeout=120)
        assert has_loaded_it(workers.running[0])
        server.released.set()


def test_a_worker_does_without_where_it_is_not_installed():
    ran = subprocess.run([sys.executable, "-c", WITHOUT], check=True, capture_output=True, text=True)
    assert ran.stdout == "asyncio\n"
