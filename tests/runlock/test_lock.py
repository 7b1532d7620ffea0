"""One life of a lock, and what others see of it meanwhile."""

import dataclasses
import json
import os
import re
import resource
import socket
import stat
from pathlib import Path

import pytest

from leasehold.errors import OptionInvalid
from leasehold.runlock import LockFailed, LockInvalid, LockLost, ReleaseRefused, RunActive, acquire, heartbeat, release
from leasehold.runlock.files import archive, read_lock
from tests.runlock.lock_files import archives, at, lock_of, traces, write_lock, write_raw

UTC_TIME = re.compile(r"2027-01-15T08:00:00\.000000Z")


@pytest.fixture
def run_dir(tmp_path):
    return tmp_path / "runs" / "run-1"


def test_a_lock_has_the_five_fields_indented_by_two_and_is_for_its_owner_alone(run_dir):
    before = os.umask(0)
    try:
        lock = acquire(run_dir, "run-1", now=at())
    finally:
        os.umask(before)
    text = lock.path.read_text()
    fields = json.loads(text)
    assert list(fields) == ["pid", "host", "started_at", "last_heartbeat_at", "run_id"]
    assert (fields["pid"], fields["host"], fields["run_id"]) == (os.getpid(), socket.gethostname(), "run-1")
    assert UTC_TIME.fullmatch(fields["started_at"])
    assert fields["started_at"] == fields["last_heartbeat_at"]
    assert text.startswith('{\n  "pid": ')
    assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600
    assert lock.path.stat().st_nlink == 1


def test_a_released_lock_leaves_nothing_but_the_guard(run_dir):
    release(acquire(run_dir, "run-1"))
    assert [path.name for path in run_dir.iterdir()] == ["RUNNING.guard"]


def test_a_heartbeat_changes_its_time_and_nothing_else(run_dir):
    lock = acquire(run_dir, "run-1", now=at())
    before = lock_of(run_dir)
    lock = heartbeat(lock, now=at(10))
    assert lock_of(run_dir) == before | {"last_heartbeat_at": "2027-01-15T08:00:10.000000Z"}
    assert stat.S_IMODE(lock.path.stat().st_mode) == 0o600
    release(heartbeat(lock, now=at(20)))
    assert not lock.path.exists()


@pytest.mark.parametrize("age", [-300, -1, 0, 119, 120])
def test_s15_a_fresh_lock_keeps_others_out_and_stays_as_it_is(run_dir, age):
    write_lock(run_dir)
    before = traces(run_dir)
    with pytest.raises(
        RunActive, match=r"^Run already active: fresh RUNNING\.lock exists .*run_id=run-7 pid=4711"
    ) as summary:
        acquire(run_dir, "run-1", now=at(age))
    assert (summary.value.exit_code, summary.value.code) == (2, "RUN_ACTIVE")
    assert traces(run_dir) == before


def test_s15_a_process_cannot_take_the_lock_that_it_holds(run_dir):
    acquire(run_dir, "run-1", now=at())
    with pytest.raises(RunActive):
        acquire(run_dir, "run-1", now=at())


@pytest.mark.parametrize("age", [120.000_001, 121, 86_400])
def test_a_stale_lock_is_archived_byte_for_byte_and_reported(run_dir, age):
    content = write_lock(run_dir)
    audited: list[str] = []
    acquire(run_dir, "run-1", now=at(age), audit=audited.append)
    assert archives(run_dir) == {"RUNNING.stale.1800000000.lock": content}
    assert lock_of(run_dir)["run_id"] == "run-1"
    place = run_dir / "RUNNING.stale.1800000000.lock"
    whose = "run_id=run-7 pid=4711 host=elsewhere last_heartbeat_at=2027-01-15T08:00:00.000000Z"
    assert audited == [f"Archived stale lock to {place} ({whose})"]


def test_s15_an_archive_is_never_overwritten(run_dir):
    kept = {}
    for number in range(4):
        content = write_lock(run_dir, run_id=f"run-{number}")
        release(acquire(run_dir, "next", now=at(200), audit=lambda line: None))
        kept[f"RUNNING.stale.1800000000.{number}.lock".replace(".0.", ".")] = content
    assert archives(run_dir) == kept


def test_the_text_of_a_lock_cannot_act_on_the_terminal_that_shows_it(run_dir):
    write_lock(run_dir, run_id="\x1b[2Jgone\n", host="a\u202eb")
    with pytest.raises(RunActive) as summary:
        acquire(run_dir, "run-1", now=at())
    assert str(summary.value).isprintable()


def test_a_heartbeat_of_a_lock_that_is_gone_makes_no_new_one(run_dir):
    lock = acquire(run_dir, "run-1")
    lock.path.unlink()
    with pytest.raises(LockLost, match=r"^Invalid lock encountered: .* is gone") as summary:
        heartbeat(lock)
    assert summary.value.exit_code == 3
    assert not lock.path.exists()


def overtaken(run_dir, run_id):
    """Return a lock and the one that took its place."""
    first = acquire(run_dir, "run-1", now=at())
    return first, acquire(run_dir, run_id, now=at(121), audit=lambda line: None)


@pytest.mark.parametrize("run_id", ["run-1", "run-2"])
def test_s15_a_holder_that_was_overtaken_changes_nothing(run_dir, run_id):
    first, second = overtaken(run_dir, run_id)
    before = traces(run_dir)
    with pytest.raises(LockLost, match=r"^Invalid lock encountered: ") as lost:
        heartbeat(first, now=at(122))
    with pytest.raises(ReleaseRefused, match=r"^Failed to release lock safely: ") as refused:
        release(first)
    assert (lost.value.exit_code, refused.value.exit_code) == (3, 3)
    assert traces(run_dir) == before
    release(heartbeat(second, now=at(130)))


def test_s15_an_inode_that_is_used_again_does_not_make_a_lock_ours(run_dir):
    first, second = overtaken(run_dir, "run-1")
    first = dataclasses.replace(first, identity=second.identity)
    with pytest.raises(LockLost, match="another acquisition"):
        heartbeat(first, now=at(122))
    with pytest.raises(ReleaseRefused, match="another acquisition"):
        release(first)
    release(second)


def test_a_copy_put_in_place_of_a_lock_is_not_that_lock(run_dir):
    lock = acquire(run_dir, "run-1")
    content = lock.path.read_bytes()
    lock.path.rename(run_dir / "moved")
    lock.path.write_bytes(content)
    with pytest.raises(ReleaseRefused, match="another acquisition"):
        release(lock)
    assert lock.path.exists()


def test_a_lock_that_was_damaged_meanwhile_is_neither_renewed_nor_removed(run_dir):
    lock = acquire(run_dir, "run-1")
    write_raw(run_dir, b"{")
    with pytest.raises(LockInvalid, match=r"^Invalid lock encountered: RUNNING\.lock is not JSON"):
        heartbeat(lock)
    with pytest.raises(ReleaseRefused, match=r"^Failed to release lock safely: RUNNING\.lock is not JSON"):
        release(lock)
    assert lock.path.read_bytes() == b"{"


@pytest.mark.parametrize("nonce", ["missing", "folder", "link", "other"])
def test_a_lock_whose_nonce_cannot_be_read_is_not_ours(run_dir, nonce):
    lock = acquire(run_dir, "run-1")
    path = run_dir / "RUNNING.nonce"
    kept = path.rename(run_dir / "kept")
    match nonce:
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(kept)
        case "other":
            path.write_bytes(b"\xff")
    with pytest.raises(LockLost, match="another acquisition"):
        heartbeat(lock)


def test_a_forked_child_does_not_release_its_parents_lock(run_dir):
    lock = acquire(run_dir, "run-1")
    copy = dataclasses.replace(lock, payload=dataclasses.replace(lock.payload, pid=lock.payload.pid + 1))
    with pytest.raises(ReleaseRefused, match="of which this one is a child"):
        release(copy)
    release(lock)


@pytest.mark.parametrize("run_id", ["", " ", "a\nb", "a\0", "\udc80", "x" * 256])
def test_a_run_id_that_cannot_be_written_down_is_refused_before_anything_is_made(run_dir, run_id):
    with pytest.raises(OptionInvalid, match="1 to 255 printable characters"):
        acquire(run_dir, run_id)
    assert not run_dir.exists()


def test_the_longest_run_id_fits_into_a_lock_that_can_be_read_back(run_dir):
    lock = heartbeat(acquire(run_dir, "😀" * 255))
    assert lock_of(run_dir)["run_id"] == "😀" * 255
    release(lock)


def test_clocks_an_hour_apart_lead_to_a_takeover_that_is_noticed_or_to_a_person_and_never_to_two_holders(run_dir):
    """S15: an hour behind, the lock is from the future: nothing is touched. An hour ahead it is stale: one is left."""
    lock = acquire(run_dir, "run-1", now=at())
    before = traces(run_dir)
    with pytest.raises(LockInvalid, match="3600 s ahead of this machine's clock"):
        acquire(run_dir, "behind", now=at(-3_600))
    assert traces(run_dir) == before
    ahead = acquire(run_dir, "ahead", now=at(3_600), audit=lambda line: None)
    with pytest.raises(LockLost, match="is of run ahead now"):
        heartbeat(lock, now=at(10))
    with pytest.raises(LockInvalid, match="ahead of this machine's clock"):
        acquire(run_dir, "run-1", now=at(20))
    release(heartbeat(ahead, now=at(3_610)))


@pytest.mark.parametrize("path", ["a-file", "a-file/run-1"])
def test_a_folder_that_cannot_be_made_is_the_systems_refusal(tmp_path, path):
    (tmp_path / "a-file").touch()
    with pytest.raises(LockFailed, match=r"^Failed to acquire RUNNING\.lock: ") as summary:
        acquire(tmp_path / path, "run-1")
    assert summary.value.exit_code == 4
    assert isinstance(summary.value.__cause__, OSError)


def test_a_relative_folder_stays_the_same_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lock = acquire("run-1", "run-1")
    monkeypatch.chdir("/")
    release(lock)
    assert not (Path(tmp_path) / "run-1" / "RUNNING.lock").exists()


def test_a_heartbeat_that_the_disk_takes_only_in_part_leaves_the_lock_as_it_was(run_dir):
    lock = acquire(run_dir, "run-1")
    before = traces(run_dir)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        with pytest.raises(LockFailed, match="File too large") as summary:
            heartbeat(lock)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert summary.value.exit_code == 4
    assert traces(run_dir) == before
    release(lock)


def test_a_folder_where_the_nonce_should_be_is_named_and_nothing_is_left(run_dir):
    (run_dir / "RUNNING.nonce").mkdir(parents=True)
    with pytest.raises(LockFailed, match=r"/RUNNING\.nonce\)"):
        acquire(run_dir, "run-1")
    assert {path.name for path in run_dir.iterdir()} == {"RUNNING.guard", "RUNNING.nonce"}


def test_a_fresh_lock_that_comes_between_archive_and_acquisition_wins(run_dir):
    content = write_lock(run_dir)

    def come_between(line: str) -> None:
        write_lock(run_dir, 200, run_id="faster")

    with pytest.raises(RunActive, match="run_id=faster"):
        acquire(run_dir, "run-1", now=at(200), audit=come_between)
    assert archives(run_dir) == {"RUNNING.stale.1800000000.lock": content}
    assert lock_of(run_dir)["run_id"] == "faster"


def test_a_program_that_keeps_leaving_stale_locks_is_given_up_on(run_dir):
    written = [write_lock(run_dir, pid=1)]

    def leave_another(line: str) -> None:
        written.append(write_lock(run_dir, pid=len(written) + 1))

    with pytest.raises(LockFailed, match="keeps leaving locks"):
        acquire(run_dir, "run-1", now=at(200), audit=leave_another)
    assert sorted(archives(run_dir).values()) == sorted(written[:-1])


def test_a_lock_replaced_while_it_was_being_archived_is_neither_archived_nor_removed(run_dir):
    write_lock(run_dir)
    stale = read_lock(run_dir)
    assert stale is not None
    (run_dir / "RUNNING.lock").rename(run_dir / "moved")
    content = write_lock(run_dir, 200)
    with pytest.raises(LockFailed, match=r"ignores RUNNING\.guard"):
        archive(run_dir, stale)
    assert archives(run_dir) == {}
    assert (run_dir / "RUNNING.lock").read_bytes() == content


def test_a_lock_whose_folder_was_moved_away_is_lost_and_no_folder_is_made_in_its_place(run_dir):
    lock = acquire(run_dir, "run-1")
    run_dir.rename(run_dir.with_name("moved"))
    with pytest.raises(LockLost, match="is gone, and its folder with it"):
        heartbeat(lock)
    with pytest.raises(ReleaseRefused, match="is gone, and its folder with it"):
        release(lock)
    assert not run_dir.exists()


@pytest.mark.parametrize("step", [heartbeat, release])
def test_a_folder_that_cannot_be_examined_is_an_error_of_the_lock(tmp_path, step):
    lock = acquire(tmp_path, "run-1")
    broken = dataclasses.replace(lock, run_dir=tmp_path / ("x" * 300))
    with pytest.raises(LockFailed, match="File name too long"):
        step(broken)
