"""Who may run next to a task that has lost two workers: nobody in the same process."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from leasehold import clock
from leasehold.model.failure import loss
from leasehold.model.failure.loss import suspect_route
from leasehold.model.lease import SUSPECT_LOSSES
from leasehold.model.limits import SUSPECTS_MAX
from leasehold.runtime.claim import pending_file
from leasehold.runtime.claim.held import HeldAttempts
from leasehold.runtime.claim.pending_file import PendingFile
from leasehold.runtime.claim.suspects import Suspects
from leasehold.runtime.limits import PENDING_KEPT_SECONDS, QUIET_SECONDS, QUIET_SECONDS_MAX, QUIET_SHARE
from leasehold.runtime.worker import Worker
from leasehold.store import open_store
from leasehold.store.workers import PulseQuery
from leasehold.testing import Clock
from tests.runtime.claim.test_claimer import claimer_of
from tests.support.db import check_journal, check_places, names, rows
from tests.support.disks.small_disk import small_disk
from tests.support.manual_leases import claim, enrol
from tests.support.needs import MOUNT
from tests.support.processes import fork_app
from tests.support.processes.local_worker import plan_of, run_worker
from tests.support.uptime import simulated_uptime
from tests.support.wait import until


def on_top():
    """At the top of a module, so that another process can load it."""


@pytest.fixture
def suspects(app):
    """Make so many suspects of a kind, by losing two workers of each."""

    def make(kind, count: int) -> None:
        app.submit_many(kind, [{}] * count)
        lose_workers(app, [kind.name])

    return make


def lose_workers(app, routes, times: int = 2) -> None:
    """Have so many workers be lost, each with everything."""
    manual = Clock(app)
    for _ in range(times):
        worker = enrol(app.store)
        for route in routes:
            claim(app.store, worker, route, most=100)
        app.store.leases.reclaim([loss.decide(one, ()) for one in app.store.losses.of_worker(worker)])
        manual.advance(5)
        app.store.stages.make_due()


def pulsed(claimer, store):
    claimer.on_suspects(store.workers.pulse(PulseQuery()).suspects)
    return claimer


def test_s12_a_few_suspects_are_claimed_at_once_and_each_is_isolated(app, url, suspects):
    kind = app.job(on_top, name="on-top")
    suspects(kind, SUSPECTS_MAX + 3)
    with closing(open_store(url)) as store:
        held = HeldAttempts(50, {})
        claimer = pulsed(claimer_of(store, kind, held), store)
        assert (claimer.claim(50), claimer.claim_suspects()) == (0, SUSPECTS_MAX)
        assert claimer.claim_suspects() == 0
        assert all(attempt.isolated for attempt in held.all())
        for attempt in held.all():
            held.free_slot(attempt)
        assert claimer.claim_suspects() == 3


def test_s12_suspects_that_lost_one_more_worker_are_claimed_by_one_that_lives_and_are_tried_one_then_two_then_four(
    app, url, suspects
):
    """One may kill its worker from a process of its own, as when a container ends as a whole."""
    kind = app.job(on_top, name="on-top")
    suspects(kind, SUSPECTS_MAX)
    lose_workers(app, [suspect_route(kind.name)], times=1)
    now = clock.uptime()
    with simulated_uptime(lambda: now), closing(open_store(url)) as store:
        held = HeldAttempts(50, {})
        claimer = claimer_of(store, kind, held)
        assert pulsed(claimer, store).claim_suspects() == 0
        now += clock.SECOND
        found = []
        while (count := pulsed(claimer, store).claim_suspects()) > 0:
            found.append(count)
            assert claimer.claim_suspects() == 0
            for attempt in held.all():
                held.free_slot(attempt)
                held.drop(attempt)
                claimer.suspects.on_end(None)
        assert found[:2] == [1, 2]
        assert sum(found) == SUSPECTS_MAX


def test_l3_a_worker_that_finds_suspects_takes_the_others_too(app, url, suspects):
    kind = app.job(on_top, name="on-top")
    suspects(kind, 1)
    with closing(open_store(url)) as store:
        held = HeldAttempts(10, {})
        claimer = claimer_of(store, kind, held)
        assert claimer.claim(10) == 0
        app.submit_many(kind, [{}] * 2)
        pulsed(claimer, store).start()
        try:
            until(lambda: len(held.all()) == 3)
        finally:
            claimer.close()


@pytest.mark.parametrize("options", [{"isolated": False}, {}], ids=["forbidden", "not at the top"])
def test_s12_one_that_cannot_be_isolated_waits_for_an_idle_worker_and_takes_every_place(app, url, suspects, options):
    kind = app.job(on_top if options else lambda: None, name="alone", **options)
    suspects(kind, 2)
    app.submit(kind)
    with closing(open_store(url)) as store:
        held = HeldAttempts(10, {})
        claimer = pulsed(claimer_of(store, kind, held), store)
        assert claimer.claim(1) == 1
        [other] = held.all()
        held.free_slot(other)
        assert claimer.claim_suspects() == 0, "an end that is not written would be lost with it"
        held.drop(other)
        assert claimer.claim_suspects() == 1
        assert (held.capacity.free(), claimer.claim_suspects()) == (0, 0)
        [alone] = held.all()
        assert not alone.isolated
        held.drop(alone)
        held.free_slot(alone)
        assert (held.capacity.free(), claimer.claim_suspects()) == (10, 1)


def test_s12_a_suspect_that_is_asked_to_end_together_with_its_worker_is_given_back(
    app, url, suspects, tmp_path, monkeypatch
):
    """As by a service manager, which sends SIGTERM to every process of a service."""
    written = tmp_path / "pids"
    monkeypatch.setenv("SUSPECT_PIDS", str(written))
    kind = app.job(fork_app.wait_for_signal.handler.function, name="waits")
    suspects(kind, 1)
    with closing(open_store(url)) as store:
        worker = Worker(store, plan_of(kind))
        worker.start()
        until(lambda: written.exists() and written.read_text().endswith("."))
        stopping = threading.Thread(target=worker.stop)
        stopping.start()
        until(lambda: worker._held.is_stopping)  # noqa: SLF001 — before it waits for the handler
        pids = [int(pid) for pid in written.read_text().split()[:2]]
        assert os.getpid() not in pids
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        stopping.join()
    [job] = app.jobs()
    assert (job.status, names(url, job.id)[-1]) == ("READY", "released")
    check_places(url)
    check_journal(url)


def test_s12_when_a_suspect_is_convicted_those_that_were_lost_with_it_run_with_all_others_again(app, url, tmp_path):
    """Those that run meanwhile end where they are."""
    innocent = app.job(fork_app.wait_for_file.handler.function, name="innocent")
    deadly = app.job(fork_app.kill_itself.handler.function, name="deadly")
    convicted = tmp_path / "convicted"
    jobs = app.submit_many(innocent, [{"path": str(convicted)}] * (SUSPECTS_MAX + 2))
    poison = app.submit(deadly)
    lose_workers(app, [innocent.name, deadly.name])
    with closing(open_store(url)) as store:
        worker = Worker(store, plan_of(innocent, deadly))
        worker.start()
        until(lambda: rows(url, "SELECT 1 FROM event WHERE name = 'cleared'"))
        convicted.touch()
        until(lambda: all(job.status == "DONE" for job in jobs))
        worker.stop()
    assert poison.status == "ERROR"
    assert all(names(url, job.id).count("cleared") == 1 for job in jobs)
    outside = [job.output == os.getpid() for job in jobs]
    assert 2 <= sum(outside) < len(jobs), "one may have been begun in the place of the convicted one"
    check_places(url)
    check_journal(url)


def test_s12_a_suspect_that_needs_the_set_up_of_its_worker_runs_alone_in_one(app, url):
    """A process of its own has neither what start hooks made nor what the main module did."""
    kind = app.job(fork_app.use_pool.handler.function, name="pooled")
    job = app.submit(kind)
    lose_workers(app, [kind.name])
    fork_app.POOL.append(7)
    try:
        with run_worker(url, kind):
            until(lambda: job.status in ("DONE", "ERROR"))
    finally:
        fork_app.POOL.clear()
    assert (job.status, job.output) == ("DONE", 7)
    assert names(url, job.id)[-4:] == ["claimed", "released", "claimed", "done"]
    check_places(url)
    check_journal(url)


def test_s12_a_process_that_dies_before_it_calls_the_handler_of_a_suspect_convicts_nobody(
    app, url, tmp_path, monkeypatch
):
    """Whatever it is, the task did not do it: it runs alone in the worker."""
    source = f"import os\nif os.getpid() != {os.getpid()}: os._exit(9)\ndef brittle(): return os.getpid()\n"
    (tmp_path / "brittle_module.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    kind = app.job(importlib.import_module("brittle_module").brittle, name="brittle")
    job = app.submit(kind)
    lose_workers(app, [kind.name])
    with run_worker(url, kind):
        until(lambda: job.status in ("DONE", "ERROR"))
    assert (job.status, job.output) == ("DONE", os.getpid())
    assert names(url, job.id)[-4:] == ["claimed", "released", "claimed", "done"]


def test_a_suspect_in_a_limited_queue_can_be_leased_by_hand(app, suspects):
    app.queues.limit("default", 2)
    kind = app.job(on_top, name="on-top")
    suspects(kind, 1)
    assert app.manual.lease(kind, owner="ada") is not None


def test_l3_a_busy_worker_waits_longer_each_time_to_become_idle_for_one_that_must_run_alone(app):
    """Else handlers that run longer than the first wait would keep it from running for ever."""
    kind = app.job(lambda: None, name="alone")
    suspects = Suspects({"alone": kind.handler}, lambda: None)
    later = round(QUIET_SHARE * QUIET_SECONDS_MAX * clock.SECOND)
    assert suspects.quiet_seconds(0) == 0
    assert suspects.on_pulse({("!alone", SUSPECT_LOSSES)})
    waits = [suspects.quiet_seconds(number * later) for number in range(1, 9)]
    assert waits == [1, 2, 4, 8, 16, 32, QUIET_SECONDS_MAX, QUIET_SECONDS_MAX]
    assert suspects.quiet_seconds(9 * later - 1) == 0
    suspects.on_alone()
    assert suspects.quiet_seconds(9 * later) == QUIET_SECONDS


def test_s12_what_was_claimed_and_has_not_begun_is_known_after_the_worker_is_gone():
    pending = PendingFile.make(3)
    pending.add([(1, 1), (2, 7), (3, 1), (4, 1)])
    pending.remove((2, 7))
    pending.remove((9, 9))
    assert pending_file.read(pending.name) == {(1, 1), (3, 1)}, "there was no slot for the fourth: it counts as begun"
    pending.close()
    assert pending_file.read(pending.name) == frozenset()


@pytest.mark.parametrize(
    ("is_old", "is_alive", "stays"), [(True, False, False), (True, True, True), (False, False, True)]
)
def test_the_file_of_a_worker_that_is_gone_for_long_is_deleted_when_another_starts(is_old, is_alive, stays):
    pending = PendingFile.make(3)
    path = pending_file._path(str(pending.name))  # noqa: SLF001 — no other way to change it
    pending.add([(1, 1)])
    if is_old:
        os.utime(path, (0, time.time() - PENDING_KEPT_SECONDS - 60))
    if not is_alive:
        del pending
    another = PendingFile.make(3)
    try:
        assert path.exists() == stays
    finally:
        path.unlink(missing_ok=True)
        another.close()


FULL = """
import sys, tempfile
from pathlib import Path
from leasehold.runtime.claim.pending_file import PendingFile
from tests.support.db import check_journal, check_places, names
from tests.support.disks.small_disk import SmallDisk

disk = SmallDisk(Path(sys.argv[1]))
tempfile.tempdir = sys.argv[1]
made = [PendingFile.make(50)]
disk.fill()
made.append(PendingFile.make(50))
for pending in made:
    pending.add([(1, 1)])
    print(pending.name is not None, *pending.taken())
print(len(list(disk.folder.glob("*.pending"))))
"""


@MOUNT.mark
def test_s12_a_full_folder_for_temporary_files_does_not_kill_the_worker():
    with small_disk(1) as disk:
        command = [sys.executable, "-c", FULL, str(disk.folder)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "True (1, 1)\nFalse (1, 1)\n1\n"), ran.stderr


@pytest.mark.parametrize("name", [None, "../../etc/passwd", "leasehold-abcdefgh.pending", "x"])
def test_a_file_that_is_not_there_or_not_ours_to_read_leaves_everything_begun(name):
    assert pending_file.read(name) == frozenset()


@pytest.mark.parametrize("change", ["link", "folder", "writable", "torn"])
def test_a_file_that_somebody_else_may_have_written_is_not_believed(change):
    pending = PendingFile.make(2)
    pending.add([(1, 1)])
    path = pending_file._path(str(pending.name))  # noqa: SLF001 — no other way to change it
    moved = Path(f"{path}.moved")
    try:
        match change:
            case "link":
                path.rename(moved)
                path.symlink_to(moved)
            case "folder":
                path.rename(moved)
                path.mkdir()
            case "writable":
                path.chmod(0o666)
            case "torn":
                os.truncate(path, 17)
        expected = {(1, 1)} if change == "torn" else frozenset()
        assert pending_file.read(pending.name) == expected
    finally:
        moved.unlink(missing_ok=True)
        with suppress(OSError):
            path.unlink()
        with suppress(OSError):
            path.rmdir()
