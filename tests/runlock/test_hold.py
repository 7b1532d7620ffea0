"""The lock as a block: heartbeats from a thread of their own, and a loss that is noticed."""

import fcntl
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from leasehold import clock
from leasehold.errors import OptionInvalid
from leasehold.runlock import LockFailed, LockLost, ReleaseRefused, acquire, hold, release
from leasehold.runlock.guard import guarded
from tests.runlock.command_process import ROOT
from tests.runlock.lock_files import archives, at, lock_of, traces
from tests.support.uptime import simulated_uptime
from tests.support.wait import until

LATER = 200 * clock.SECOND


def takeover(run_dir, run_id="run-2"):
    return acquire(run_dir, run_id, now=lambda: clock.wall() + LATER, audit=lambda line: None)


@contextmanager
def guard_taken(run_dir):
    """Keep everybody out of the guard."""
    with (run_dir / "RUNNING.guard").open("ab") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        yield


def test_heartbeats_are_written_while_the_block_works(tmp_path):
    with hold(tmp_path, "run-1", interval_seconds=0.01) as held:
        first = lock_of(tmp_path)["last_heartbeat_at"]
        until(lambda: lock_of(tmp_path)["last_heartbeat_at"] > first)
        held.check()
        assert not held.is_lost
    assert [path.name for path in tmp_path.iterdir()] == ["RUNNING.guard"]


def test_a_block_that_fails_releases_its_lock(tmp_path):
    with pytest.raises(ZeroDivisionError), hold(tmp_path, "run-1"):
        _ = 1 // 0
    assert not (tmp_path / "RUNNING.lock").exists()


def test_s15_a_block_learns_that_its_lock_was_taken_over_and_leaves_the_other_alone(tmp_path):
    holding = hold(tmp_path, "run-1", interval_seconds=0.01)
    held = holding.__enter__()
    other = takeover(tmp_path)
    until(lambda: held.is_lost)
    before = traces(tmp_path)
    with pytest.raises(LockLost, match=r"is gone|is of run run-2 now"):  # after the archive, or after all of it
        held.check()
    with pytest.raises(ReleaseRefused):
        holding.__exit__(None, None, None)
    assert traces(tmp_path) == before
    release(other)


def test_a_lock_lost_between_two_heartbeats_is_noticed_at_the_end_of_the_block(tmp_path):
    with pytest.raises(ReleaseRefused, match="another acquisition"), hold(tmp_path, "run-1", interval_seconds=50):
        takeover(tmp_path, "run-1")
    assert lock_of(tmp_path)["run_id"] == "run-1"


@pytest.mark.parametrize("interval", [0, -1, 60, 1e9, float("nan")])
def test_an_interval_that_the_time_to_live_cannot_bear_is_refused(tmp_path, interval):
    with pytest.raises(OptionInvalid), hold(tmp_path, "run-1", interval_seconds=interval):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_holder_that_cannot_write_heartbeats_stops_before_others_may_take_over(tmp_path):
    reading = [0]
    with simulated_uptime(lambda: reading[0]), hold(tmp_path, "run-1", interval_seconds=10) as held:
        reading[0] = 110 * clock.SECOND - 1
        held.check()
        reading[0] += 1
        assert held.is_lost
        with pytest.raises(LockLost, match="had no heartbeat for too long"):
            held.check()
    assert not (tmp_path / "RUNNING.lock").exists()


def _is_replaced(guard: Path) -> bool:
    guard.rename(guard.with_name("kept"))
    with suppress(FileExistsError):
        guard.mkdir()
    return guard.is_dir()


def test_a_heartbeat_that_cannot_be_written_is_reported_and_tried_again(tmp_path):
    guard = tmp_path / "RUNNING.guard"
    with hold(tmp_path, "run-1", interval_seconds=0.01) as held:
        until(lambda: _is_replaced(guard))  # a heartbeat in between makes a new one
        last_error = until(lambda: held.last_error)
        assert last_error is not None
        assert last_error.code == "LOCK_FAILED"
        held.check()
        guard.rmdir()
        guard.with_name("kept").rename(guard)
        until(lambda: held.last_error is None)
        held.check()
    assert not (tmp_path / "RUNNING.lock").exists()


@pytest.fixture
def holder(tmp_path):
    command = [sys.executable, "-m", "tests.runlock.holder", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize("run_id", ["run-1", "run-2"])
def test_s15_a_paused_holder_that_wakes_after_a_takeover_changes_nothing_and_exits_with_3(tmp_path, holder, run_id):
    with guard_taken(tmp_path):  # so that it is not paused in there
        holder.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED)
    other = takeover(tmp_path, run_id)
    before = traces(tmp_path)
    holder.send_signal(signal.SIGCONT)
    _, errors = holder.communicate(timeout=60)
    assert holder.returncode == 3
    assert errors.startswith("Failed to release lock safely: ")
    assert traces(tmp_path) == before
    release(other)


def test_a_holder_that_was_killed_is_overtaken_by_the_next_start(tmp_path, holder):
    holder.kill()
    holder.wait()
    release(takeover(tmp_path))
    (kept,) = archives(tmp_path).values()
    assert f'"pid": {holder.pid},'.encode() in kept


def test_a_process_stopped_inside_the_guard_is_waited_for_no_longer_than_the_limit(tmp_path):
    lock = acquire(tmp_path, "run-1", now=at())
    with guard_taken(tmp_path):
        with pytest.raises(LockFailed, match=r"fuser -v RUNNING\.guard") as summary:
            acquire(tmp_path, "run-2", now=at(200), wait_seconds=0.05)
        with pytest.raises(LockFailed):
            release(lock, wait_seconds=0.05)
    assert summary.value.exit_code == 4
    release(lock)


def open_guards(run_dir):
    """Return how often this process has the guard open: the file of that name, and one that was deleted."""
    targets = [target(one) for one in Path("/proc/self/fd").iterdir()]
    guard = f"{run_dir}/RUNNING.guard"
    return targets.count(guard), targets.count(f"{guard} (deleted)")


def target(descriptor):
    """A descriptor may be closed, in another thread or by the listing itself, before it is looked at."""
    try:
        return str(descriptor.readlink())
    except FileNotFoundError:
        return ""


def test_s15_a_guard_that_was_deleted_while_it_was_waited_for_lets_nobody_in(tmp_path):
    """A process that waited for the old file then waits for the new one, as every process that came later."""
    release(acquire(tmp_path, "run-1"))
    guard = tmp_path / "RUNNING.guard"
    with ThreadPoolExecutor(1) as pool:
        with guard.open("ab") as old:
            fcntl.flock(old, fcntl.LOCK_EX)
            waiting = pool.submit(acquire, tmp_path, "run-2", wait_seconds=60)
            until(lambda: open_guards(tmp_path) == (2, 0))
            guard.unlink()
            new = guard.open("ab")
            fcntl.flock(new, fcntl.LOCK_EX)
        until(lambda: open_guards(tmp_path) == (2, 0))
        assert not (tmp_path / "RUNNING.lock").exists()
        new.close()
        release(waiting.result(timeout=60))


def test_a_child_forked_inside_the_guard_does_not_keep_others_out(tmp_path):
    """It has the same open file, as a duplicate of its descriptor has."""
    with guarded(tmp_path, 1):
        (number,) = [int(one.name) for one in Path("/proc/self/fd").iterdir() if target(one).endswith("/RUNNING.guard")]
        copy = os.dup(number)
    release(acquire(tmp_path, "run-1", wait_seconds=0.05))
    assert open_guards(tmp_path) == (1, 0)
    os.close(copy)


def test_s15_a_block_that_looks_at_its_lock_learns_of_a_takeover_before_the_next_heartbeat(tmp_path):
    holding = hold(tmp_path, "run-1")
    held = holding.__enter__()
    held.confirm()
    other = takeover(tmp_path)
    held.check()  # no heartbeat has noticed
    before = traces(tmp_path)
    with pytest.raises(LockLost, match="of run run-2 now"):
        held.confirm()
    assert traces(tmp_path) == before
    with pytest.raises(ReleaseRefused):
        holding.__exit__(None, None, None)
    release(other)


def test_heartbeats_and_looks_at_the_lock_do_not_disturb_each_other(tmp_path):
    with hold(tmp_path, "run-1", interval_seconds=0.001) as held:
        first = lock_of(tmp_path)["last_heartbeat_at"]
        for _ in range(50):
            held.confirm()
        until(lambda: lock_of(tmp_path)["last_heartbeat_at"] > first)
        assert not held.is_lost
