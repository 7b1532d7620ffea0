"""A process that dies while it writes the journal to a file."""

import json
import signal
import subprocess
import sys

from leasehold.cli.jobs.events import project
from leasehold.store import open_store
from tests.store.work import submit
from tests.support.processes.fork_server import ROOT

# Half of a batch reaches the disk, and then the process is gone.
DYING = """
import os, signal, sys
from pathlib import Path
from leasehold.insight import journal
from leasehold.cli.jobs.events import project
from leasehold.store import open_store

def write_half(file):
    size = os.fstat(file).st_size
    os.ftruncate(file, size - 40)
    os.kill(os.getpid(), signal.SIGKILL)

journal.os.fsync = write_half
project(open_store(sys.argv[1]), None, Path(sys.argv[2]), follow=False)
"""


def test_a_line_written_in_part_is_cut_off_and_written_whole(url, tmp_path):
    path = tmp_path / "journal.ndjson"
    store = open_store(url)
    submit(store, *"abcde")
    ran = subprocess.run([sys.executable, "-c", DYING, url, str(path)], cwd=ROOT, check=False)
    assert ran.returncode == -signal.SIGKILL
    torn = path.read_bytes()
    assert not torn.endswith(b"\n")
    project(store, None, path, follow=False)
    assert path.read_bytes().startswith(torn)
    assert [json.loads(line)["task_id"] for line in path.read_bytes().splitlines()] == [1, 2, 3, 4, 5]
    store.close()
