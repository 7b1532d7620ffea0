"""Whatever lies where the lock should be is refused at once, unread and untouched."""

import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest

from leasehold import clock
from leasehold.runlock import LockFailed, RunActive, acquire
from leasehold.runlock.payload import text_of
from tests.runlock.command_as_user import NOBODY
from tests.runlock.command_process import run
from tests.runlock.lock_files import at, traces, write_lock

LOCK = "RUNNING.lock"


def active(run_dir):
    """Write a lock that would be valid if it lay there as a plain file."""
    return write_lock(run_dir, last_heartbeat_at=text_of(clock.wall()))


def symlink(run_dir):
    active(run_dir)
    (run_dir / LOCK).rename(run_dir / "elsewhere")
    (run_dir / LOCK).symlink_to("elsewhere")


def dangling(run_dir):
    (run_dir / LOCK).symlink_to("nowhere")


def folder(run_dir):
    (run_dir / LOCK).mkdir()


def fifo(run_dir):
    os.mkfifo(run_dir / LOCK)


def unix_socket(run_dir):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(run_dir / LOCK))


def ten_megabytes(run_dir):
    (run_dir / LOCK).write_bytes(b" " * 10_000_000)


def terabyte(run_dir):
    """Sparse: reading it would take minutes."""
    with (run_dir / LOCK).open("wb") as made:
        made.truncate(2**40)


def one_byte_too_many(run_dir):
    content = active(run_dir)
    (run_dir / LOCK).write_bytes(content + b" " * (8_193 - len(content)))


STRANGE = [symlink, dangling, folder, fifo, unix_socket, ten_megabytes, terabyte, one_byte_too_many]


@pytest.fixture
def run_dir():
    """A folder with a short name, as sockets need it, that everybody may enter."""
    made = Path(tempfile.mkdtemp(prefix="leasehold-lock-", dir="/tmp"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("make", STRANGE, ids=lambda make: make.__name__)
def test_a_strange_file_ends_with_exit_3_and_is_neither_waited_for_nor_touched(run_dir, make):
    make(run_dir)
    before = traces(run_dir)
    done = run(run_dir)
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("Invalid lock encountered: ")
    assert "rename it to RUNNING.invalid.<timestamp>.lock" in done.stderr
    assert done.stdout == ""
    assert traces(run_dir) == before


def test_the_largest_lock_that_is_read_is_valid(run_dir):
    content = write_lock(run_dir)
    (run_dir / LOCK).write_bytes(content + b" " * (8_192 - len(content)))
    with pytest.raises(RunActive):
        acquire(run_dir, "run-1", now=at())


def test_a_lock_that_may_not_be_read_ends_with_exit_3_and_is_not_touched(run_dir):
    active(run_dir)
    (run_dir / LOCK).chmod(0)
    before = traces(run_dir)
    done = run(run_dir, script=("-m", "tests.runlock.command_as_user"))
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("Invalid lock encountered: ")
    assert "Permission denied" in done.stderr
    assert traces(run_dir) == before


def test_a_folder_that_may_not_be_written_ends_with_exit_4(run_dir):
    run_dir.chmod(0o555)
    done = run(run_dir, script=("-m", "tests.runlock.command_as_user"))
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("Failed to acquire RUNNING.lock: Permission denied")


def test_an_ordinary_user_holds_and_releases_a_lock(run_dir):
    done = run(run_dir, script=("-m", "tests.runlock.command_as_user"))
    assert done.returncode == 0, done.stderr
    assert (run_dir / "RUNNING.guard").stat().st_uid == (NOBODY if os.geteuid() == 0 else os.geteuid())


@pytest.mark.parametrize("make", ["symlink", "folder", "fifo", "socket"])
def test_a_strange_guard_is_refused_and_not_followed(run_dir, make):
    guard = run_dir / "RUNNING.guard"
    match make:
        case "symlink":
            guard.symlink_to("made-elsewhere")
        case "folder":
            guard.mkdir()
        case "fifo":
            os.mkfifo(guard)
        case _:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(str(guard))
    with pytest.raises(LockFailed, match=r"^Failed to acquire RUNNING\.lock: "):
        acquire(run_dir, "run-1")
    assert [path.name for path in run_dir.iterdir()] == ["RUNNING.guard"]


@pytest.mark.parametrize("name", [".RUNNING.lock.tmp.1.0123456789abcdef", ".RUNNING.lock.tmp.77"])
def test_a_link_or_folder_with_a_temporary_name_is_left_alone(run_dir, name):
    (run_dir / "mine").write_bytes(b"mine")
    (run_dir / name).symlink_to("mine")
    (run_dir / f"{name[:-1]}0").mkdir()
    acquire(run_dir, "run-1")
    assert (run_dir / name).is_symlink()
    assert (run_dir / f"{name[:-1]}0").is_dir()
    assert (run_dir / "mine").read_bytes() == b"mine"
