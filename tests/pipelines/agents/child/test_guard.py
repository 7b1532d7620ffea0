"""Nothing of a child outlives its coordinator, nor its guard, whichever is killed with SIGKILL."""

import os
import signal
import subprocess
import sys
import threading

import psutil

from leasehold.pipelines.agents.child.process import ChildStarter
from leasehold.pipelines.agents.child.stopping import StopReason, StopRequest
from leasehold.pipelines.agents.child.supervisor import ChildEnd
from tests.pipelines.agents.child.children import DAEMON, Kept, is_alive, python, supervise
from tests.support.wait import until

FAMILY = f"{DAEMON}\nleave(2, sys.argv[1])\nleave(1, sys.argv[2])\nwhile True: signal.pause()"
COORDINATOR = """
import sys
from pathlib import Path
from tests.pipelines.agents.child.children import python, supervise
supervise(python(sys.argv[1], *sys.argv[2:]))
"""


def pids(paths):
    until(lambda: all(path.exists() for path in paths))
    return [int(path.read_text()) for path in paths]


def test_a_coordinator_killed_with_sigkill_takes_every_descendant_with_it(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    coordinator = subprocess.Popen([sys.executable, "-c", COORDINATOR, FAMILY, *map(str, paths)])
    daemons = pids(paths)
    family = psutil.Process(coordinator.pid).children(recursive=True)
    assert {os.getsid(pid) for pid in daemons}.isdisjoint({os.getsid(coordinator.pid)})
    assert {process.pid for process in family} >= set(daemons)
    coordinator.kill()
    coordinator.wait()
    until(lambda: not any(is_alive(process.pid) for process in family))
    assert not any(is_alive(pid) for pid in daemons)


class Running:
    """A run in a thread, and its end."""

    def __init__(self, starter, paths):
        self.stop = StopRequest()
        self.ends: list[ChildEnd] = []
        command = python(FAMILY, *map(str, paths))
        self.thread = threading.Thread(
            target=lambda: self.ends.append(supervise(command, stop=self.stop, starter=starter, sink=Kept()))
        )
        self.thread.start()


def guard_of(pid):
    """Return the guard of a daemon, which it has become a child of, and the server above."""
    guard = psutil.Process(pid).parent()
    assert guard is not None
    server = guard.parent()
    assert server is not None
    return guard, server


def test_what_a_killed_guard_leaves_behind_is_killed_by_the_server(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    with ChildStarter() as starter:
        run = Running(starter, paths)
        daemons = pids(paths)
        until(lambda: psutil.Process(daemons[0]).ppid() == psutil.Process(daemons[1]).ppid())
        guard, _ = guard_of(daemons[0])
        guard.kill()
        run.thread.join()
        until(lambda: not any(is_alive(pid) for pid in daemons))
        assert run.ends[0].code is None
        assert supervise(python("print(1)"), starter=starter).code == 0
        run.stop.close()


def test_a_killed_server_is_replaced_and_what_it_started_stays_guarded(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    with ChildStarter() as starter:
        run = Running(starter, paths)
        daemons = pids(paths)
        until(lambda: psutil.Process(daemons[0]).ppid() == psutil.Process(daemons[1]).ppid())
        _, server = guard_of(daemons[0])
        server.kill()
        server.wait()
        assert supervise(python("print(1)"), starter=starter).code == 0
        run.stop.request(StopReason.BUDGET)
        run.thread.join()
        assert run.ends[0].code == -signal.SIGKILL
        assert not any(is_alive(pid) for pid in daemons)
        run.stop.close()


def test_signals_to_the_guards_do_not_end_what_they_guard(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    with ChildStarter() as starter:
        run = Running(starter, paths)
        daemons = pids(paths)
        until(lambda: psutil.Process(daemons[0]).ppid() == psutil.Process(daemons[1]).ppid())
        for process in guard_of(daemons[0]):
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGINT)
        assert supervise(python("print(1)"), starter=starter).code == 0
        assert all(is_alive(pid) for pid in daemons)
        run.stop.request(StopReason.BUDGET)
        run.thread.join()
        run.stop.close()
