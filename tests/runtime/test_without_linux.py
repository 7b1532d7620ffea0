"""The engine where neither /proc nor prctl nor other parts of Linux exist: a simulation of what macOS lacks."""

import json
import os

import psutil
import pytest

from tests.support.db import rows
from tests.support.http.file_server import FileServer
from tests.support.needs import MOUNT
from tests.support.processes.without_linux import run, start
from tests.support.wait import until

pytestmark = MOUNT.mark
ASK = """
import ctypes, json, os, select, sys, time
from leasehold import clock
from leasehold.runtime.process_identity import is_gone, this_process

names = [name for module, name in ((os, "fdatasync"), (select, "epoll"), (time, "CLOCK_BOOTTIME"))
         if hasattr(module, name)]
names += [name for name in ("/proc/self",) if os.path.exists(name)]
names += [name for name in ("prctl",) if hasattr(ctypes.CDLL(None), name)]
owner = this_process()
print(json.dumps([names, clock.boot_id(), owner.namespace, owner.birth, is_gone(os.getpid(), 0), clock.uptime() > 0]))
"""


@pytest.fixture
def begin(workers, tmp_path):
    """A function that starts a worker without Linux until the block ends."""

    def begin(**environment):
        log = tmp_path / f"log-{len(list(tmp_path.glob('log-*')))}"
        known = {"LEASEHOLD_URL": workers.url, "WORKSHOP_FOLDER": str(workers.folder), "WORKSHOP_LEASE": "1"}
        words = ("-m", "leasehold", "worker", "tests.support.apps.app:app")
        return start(tmp_path, log, *words, **(known | environment))

    return begin


def test_the_simulation_lacks_what_it_should_and_identities_are_unknown_and_not_wrong(tmp_path):
    ran = run(tmp_path, "-c", ASK)
    assert ran.stderr == ""
    assert json.loads(ran.stdout) == [[], "", "", 0, False, True]


def test_jobs_of_every_way_to_run_are_done_once(app, workers, begin):
    with begin() as worker:
        until(lambda: worker.has_logged("worker_started"))
        film = app.submit("film", {"scenes": 3})
        several = [app.submit("quick", {"number": 7}), app.submit("apart_async", {"number": 7}), film]
        several += [app.submit("apart", {"act": act}) for act in ("answer", "buy", "book", "die_once", "read_input")]
        for job in several:
            assert job.wait(120).status == "DONE", (job.failure, worker.log)
        assert film.output == {"render": {"audio": [0, 10, 20]}}
    assert len(workers.journal("ran", "quick")) == 0
    assert len(workers.journal("ran", 7)) == 2
    assert len(workers.journal("bought")) == 1
    assert "Traceback" not in worker.log


def test_a_killed_worker_is_found_by_its_lease_and_its_isolated_child_ends_with_it(app, workers, begin, url):
    with begin() as worker:
        until(lambda: worker.has_logged("worker_started"))
        held = app.submit("hold", {"name": "a"})
        waiting = app.submit("apart", {"act": "obey"})
        until(lambda: workers.journal("start", "a") and workers.journal("start", "obey"))
        child = psutil.Process(int(workers.journal("start", "obey")[0][3]))
        worker.kill()
        until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    workers.open("a")
    with begin() as worker:
        assert held.wait(120).output["attempt"] == 2
        until(lambda: len(workers.journal("start", "obey")) > 1)
        waiting.cancel()
        assert waiting.wait(120).status == "CANCELLED"
        assert "Traceback" not in worker.log
    assert set(rows(url, "SELECT boot, namespace, birth FROM worker")) == {("", "", 0)}


def test_a_worker_stops_cleanly_at_a_signal(app, workers, begin):
    with begin() as worker:
        until(lambda: worker.has_logged("worker_started"))
        held = app.submit("hold", {"name": "a"})
        until(lambda: workers.journal("start", "a"))
        workers.open("a")
        worker.system.terminate()
        assert worker.end() == 0
    assert held.status == "DONE"


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_the_commands_of_a_person_work(tmp_path, url):
    with FileServer() as server:
        (tmp_path / "papers").write_text("\n".join(server.add(f"/{n}", os.urandom(n)) for n in (10, 3_000_000)))
        out = tmp_path / "files"
        done = run(tmp_path, "-m", "leasehold", "download", tmp_path / "papers", "--out", out, "--workers", "1")
    assert (done.returncode, done.stdout) == (0, "2 downloaded.\n"), done.stderr
    plan = tmp_path / "plan.toml"
    plan.write_text('[session]\nid = "demo"\n[[child]]\nname = "one"\ncommand = ["true"]\n')
    done = run(tmp_path, "-m", "leasehold", "agents", "run", plan)
    assert (done.returncode, "The only child passed." in done.stdout) == (0, True), done.stdout + done.stderr
    for words in (["download", "verify", out], ["jobs"], ["doctor"], ["tour", "--jobs", "3", "--kills", "0"]):
        done = run(tmp_path, "-m", "leasehold", *words, LEASEHOLD_URL=url)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stdout + done.stderr
