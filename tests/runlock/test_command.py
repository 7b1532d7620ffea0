"""The command of the runbook: its words, its exit codes, and what it leaves behind."""

import re
import signal
import subprocess

import pytest

from leasehold import clock
from leasehold.runlock import acquire, release
from leasehold.runlock.payload import text_of
from tests.runlock.command_process import ROOT, command, run
from tests.runlock.lock_files import archives, lock_of, write_lock, write_raw
from tests.support.processes.stopped import has_stopped
from tests.support.wait import until

HEARTBEAT = re.compile(r"Heartbeat written at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\n")


def start(run_dir, *words):
    return subprocess.Popen(
        command(run_dir, *words), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_run_reports_that_it_took_its_lock_and_released_it(tmp_path):
    done = run(tmp_path / "run-1", "--hold-seconds", "0.1")
    path = tmp_path / "run-1" / "RUNNING.lock"
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Acquired lock: {path}\nReleased lock: {path}\n"
    assert not path.exists()


def test_the_second_of_two_starts_exits_with_2(tmp_path):
    held = acquire(tmp_path, "run-1")
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Run already active: fresh RUNNING.lock exists at ")
    release(held)


def test_a_stale_lock_is_archived_with_an_audit_line_on_stderr(tmp_path):
    content = write_lock(tmp_path, last_heartbeat_at="2020-01-01T00:00:00Z")
    done = run(tmp_path)
    assert done.returncode == 0
    place = tmp_path / "RUNNING.stale.1577836800.lock"
    assert re.fullmatch(rf"Archived stale lock to {re.escape(str(place))} \(.*\)\n", done.stderr)
    assert archives(tmp_path) == {place.name: content}


@pytest.mark.parametrize(("age", "code"), [(60, 2), (110, 2), (125, 0), (-290, 2), (-330, 3)])
def test_the_command_judges_a_lock_by_the_clock_of_its_machine(tmp_path, age, code):
    write_lock(tmp_path, last_heartbeat_at=text_of(clock.wall() - age * clock.SECOND))
    assert run(tmp_path).returncode == code


def test_an_invalid_lock_exits_with_3(tmp_path):
    write_raw(tmp_path, b"{")
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Invalid lock encountered: RUNNING.lock is not JSON")


def test_a_folder_that_is_a_file_exits_with_4(tmp_path):
    (tmp_path / "file").touch()
    done = run(tmp_path / "file")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith("Failed to acquire RUNNING.lock: ")


@pytest.mark.parametrize(
    "words",
    [
        ["--what"],
        ["--hold-seconds", "-1"],
        ["--hold-seconds", "nan"],
        ["--hold-seconds", "x"],
        ["--hold-seconds", "1e9"],
    ],
)
def test_a_wrong_command_line_exits_with_64_and_not_with_that_of_an_active_lock(tmp_path, words):
    done = run(tmp_path / "run-1", *words)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("usage: translation_toolchain.py ")
    assert not (tmp_path / "run-1").exists()


@pytest.mark.parametrize("run_id", ["", "a\nb"])
def test_a_run_id_that_cannot_be_written_down_exits_with_64(tmp_path, run_id):
    done = run(tmp_path / "run-1", "--run-id", run_id)
    assert done.returncode == 64
    assert "printable characters" in done.stderr


def test_a_missing_option_exits_with_64(tmp_path):
    words = [word for word in command(tmp_path) if word not in ("--run-id", "run-1")]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 64


def test_a_long_hold_writes_heartbeats_and_a_signal_ends_it_with_a_release(tmp_path):
    with start(tmp_path, "--hold-seconds", "600") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Acquired lock: ")
        before = lock_of(tmp_path)
        assert HEARTBEAT.fullmatch(line := process.stdout.readline())
        after = lock_of(tmp_path)
        assert line.split()[-1] == after["last_heartbeat_at"] > before["last_heartbeat_at"]
        assert before | {"last_heartbeat_at": None} == after | {"last_heartbeat_at": None}
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline().startswith("Released lock: ")
    assert process.returncode == 128 + signal.SIGTERM
    assert not (tmp_path / "RUNNING.lock").exists()


def test_a_signal_that_the_command_was_started_to_ignore_does_not_end_it(tmp_path):
    words = ["nohup", *command(tmp_path, "--hold-seconds", "600")]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Acquired lock: ")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


def test_a_run_that_was_stopped_while_it_waited_takes_that_for_no_signal(tmp_path):
    with start(tmp_path, "--hold-seconds", "1") as process:
        assert process.stdout.readline().startswith("Acquired lock: ")
        process.send_signal(signal.SIGSTOP)
        until(lambda: has_stopped(process.pid))
        over = clock.uptime() + clock.SECOND
        until(lambda: clock.uptime() > over)
        process.send_signal(signal.SIGCONT)
        assert process.wait(60) == 0
        assert process.stdout.read() == f"Released lock: {tmp_path / 'RUNNING.lock'}\n"


def test_a_lost_heartbeat_exits_with_3_and_leaves_the_others_lock(tmp_path):
    with start(tmp_path, "--hold-seconds", "600") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Acquired lock: ")
        other = acquire(tmp_path, "run-2", now=lambda: clock.wall() + 200 * clock.SECOND, audit=lambda line: None)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert errors.startswith("Invalid lock encountered: ")
    assert "is of run run-2 now, not of run-1" in errors
    release(other)


def test_a_lock_lost_before_its_release_exits_with_3(tmp_path):
    with start(tmp_path, "--hold-seconds", "600") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Acquired lock: ")
        (tmp_path / "RUNNING.lock").unlink()
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, "")
    assert errors.startswith("Failed to release lock safely: ")


def test_a_reader_that_is_gone_costs_no_lock(tmp_path):
    with start(tmp_path) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.wait(timeout=60)
    assert process.returncode == 141
    assert not (tmp_path / "RUNNING.lock").exists()
