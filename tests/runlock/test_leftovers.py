"""What a kill leaves at the places where it matters, made by the test: the next start handles it by itself."""

import os

from leasehold.runlock import acquire, heartbeat, release
from tests.runlock.lock_files import NOON, archives, at, check_usable, write_lock

OURS = ".RUNNING.lock.tmp.4711.0123456789abcdef"
THEIRS = ".RUNNING.lock.tmp.4711"  # the runbook's own name for it, without a guard


def test_a_stale_lock_archived_not_yet_unlinked_is_not_archived_twice(tmp_path):
    content = write_lock(tmp_path)
    os.link(tmp_path / "RUNNING.lock", tmp_path / "RUNNING.stale.1800000000.lock")
    audited: list[str] = []
    release(acquire(tmp_path, "next", now=at(200), audit=audited.append))
    assert archives(tmp_path) == {"RUNNING.stale.1800000000.lock": content}
    assert len(audited) == 1


def test_a_stale_lock_archived_not_yet_unlinked_under_a_later_number_is_not_archived_twice(tmp_path):
    (tmp_path / "RUNNING.stale.1800000000.lock").write_bytes(b"earlier")
    content = write_lock(tmp_path)
    os.link(tmp_path / "RUNNING.lock", tmp_path / "RUNNING.stale.1800000000.1.lock")
    check_usable(tmp_path, 200)
    assert archives(tmp_path) == {
        "RUNNING.stale.1800000000.lock": b"earlier",
        "RUNNING.stale.1800000000.1.lock": content,
    }


def test_a_holder_that_wakes_up_finds_its_stale_lock_archived_not_yet_unlinked_and_goes_on(tmp_path):
    """The other was killed before it took anything over; its archive stays what it was."""
    lock = acquire(tmp_path, "run-1", now=at())
    os.link(lock.path, tmp_path / "RUNNING.stale.1800000000.lock")
    content = lock.path.read_bytes()
    release(heartbeat(lock, now=at(300)))
    assert archives(tmp_path) == {"RUNNING.stale.1800000000.lock": content}


def test_a_nonce_written_no_lock_yet_is_in_nobodys_way(tmp_path):
    (tmp_path / "RUNNING.nonce").write_bytes(b"0" * 32)
    (tmp_path / OURS.replace("lock", "nonce")).touch()
    check_usable(tmp_path, 0)


def test_a_lock_linked_temporary_file_left_is_cleaned_by_the_next_start(tmp_path):
    content = write_lock(tmp_path)
    os.link(tmp_path / "RUNNING.lock", tmp_path / OURS)
    check_usable(tmp_path, 200)
    assert archives(tmp_path) == {"RUNNING.stale.1800000000.lock": content}


def test_a_lock_released_nonce_left_is_in_nobodys_way(tmp_path):
    lock = acquire(tmp_path, "run-1", now=at())
    lock.path.unlink()
    check_usable(tmp_path, 0)


def test_temporary_files_of_others_are_removed_only_once_they_are_old(tmp_path):
    for name, seconds in ((THEIRS, -119), (f"{THEIRS}2", -121)):
        (tmp_path / name).touch()
        moment = (NOON + seconds * 1_000_000) * 1_000
        os.utime(tmp_path / name, ns=(moment, moment))
    (tmp_path / f"{THEIRS}.backup").touch()
    acquire(tmp_path, "run-1", now=at())
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"RUNNING.guard", "RUNNING.nonce", "RUNNING.lock", THEIRS, f"{THEIRS}.backup"}
