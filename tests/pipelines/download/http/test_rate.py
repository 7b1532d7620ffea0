"""What a host is spared: so many files a second and so many requests at once, over all worker processes.

A rate is kept by slots that rest: with n files at once and r a second, a worker that takes one of the n slots keeps it
from all others for n/r seconds. So between a start and the n-th after it, in any workers, lie at least n/r seconds.
"""

import threading

import pytest

from leasehold import clock
from tests.pipelines.download.command_process import download_command, query, workers
from tests.support.http.file_server import Line
from tests.support.wait import until

PROCESSES = 2


class Diary(list[Line]):
    """A log that keeps when each line was written, in microseconds."""

    def __init__(self):
        super().__init__()
        self.stamps: list[tuple[int, Line]] = []

    def append(self, line):
        self.stamps.append((clock.wall(), line))
        super().append(line)


class Gate(threading.Event):
    """Holds back every request, lets them through one by one, and counts how many stood there at once."""

    def __init__(self):
        super().__init__()
        self.most = 0
        self._inside = 0
        self._passes = 0
        self._changed = threading.Condition()

    def wait(self, timeout=None):
        with self._changed:
            self._inside += 1
            self.most = max(self.most, self._inside)
            self._changed.wait_for(lambda: self._passes or self.is_set(), timeout)
            self._inside -= 1
            self._passes -= 1 if self._passes else 0
        return True

    @property
    def held(self):
        with self._changed:
            return self._inside - self._passes

    def let_one(self):
        with self._changed:
            self._passes += 1
            self._changed.notify()

    def set(self):
        super().set()
        with self._changed:
            self._changed.notify_all()


def serve(server, count):
    """Serve files that differ; each of their requests is held back until the test lets the server go on."""
    return [server.add(f"/{number}", b"file %d" % number, stall_head=True) for number in range(count)]


def check_pace(times, starts, at_once, rate):
    """See that of two moments the later is as long after the earlier start as the slots between have to rest."""
    for later, time in enumerate(times):
        for earlier, start in enumerate(starts[:later]):
            rests = (later - earlier) // at_once
            assert time - start >= rests * at_once * clock.SECOND / rate, (earlier, later)


@pytest.mark.parametrize(("at_once", "rate", "count"), [(1, 10, 30), (4, 20, 60)])
def test_a_rate_is_kept_over_all_worker_processes_by_the_log_of_the_server(folder, server, at_once, rate, count):
    server.log = diary = Diary()
    lines = serve(server, count)
    words = ["--workers", str(PROCESSES), "--per-host", str(at_once), "--rate", str(rate)]
    with download_command(folder, lines, *words) as command:
        until(lambda: server.log, timeout=120)
        until(lambda: len(workers(folder)) == PROCESSES, timeout=120)
        server.released.set()
        assert (command.end(), command.log) == (0, f"{count} downloaded.\n")
    gets = [(stamp, line.path) for stamp, line in diary.stamps if line.method == "GET"]
    assert len({path for _, path in gets}) == len(gets) == count
    starts = sorted(at for (at,) in query(folder, "SELECT at FROM event WHERE name = 'claimed'"))
    check_pace(sorted(stamp for stamp, _ in gets), starts, at_once, rate)  # a file is asked for once it has started
    check_pace(starts, starts, at_once, rate)


def test_no_more_requests_of_a_host_are_open_at_once_than_allowed_over_all_worker_processes(folder, server):
    at_once, count = 3, 15
    server.released = gate = Gate()
    lines = serve(server, count)
    with download_command(folder, lines, "--workers", str(PROCESSES), "--per-host", str(at_once)) as command:
        until(lambda: gate.held >= at_once, timeout=120)
        until(lambda: len(workers(folder)) == PROCESSES, timeout=120)
        for _ in range(2 * (count - at_once)):  # HEAD and GET of each, while there are others that could run
            until(lambda: gate.held >= at_once, timeout=120)
            gate.let_one()
        gate.set()
        assert (command.end(), command.log) == (0, f"{count} downloaded.\n")
    assert len(server.log) == 2 * count
    assert gate.most == at_once
