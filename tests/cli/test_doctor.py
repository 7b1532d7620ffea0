"""`doctor` and `migrate`: is this installation well?"""

import json
import shutil
import signal

from click.testing import CliRunner

from leasehold.cli.options import ExitCode
from leasehold.cli.root import root
from leasehold.testing import Clock
from tests.support.disks.small_disk import small_disk
from tests.support.needs import MOUNT
from tests.support.wait import until


def test_a_healthy_database_gets_a_clean_bill(command, dialect):
    result = command("doctor")
    names = [line.split("  ")[0] for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert names == [
        "CHECK",
        "leasehold",
        "python",
        "apsw",
        "psycopg",
        "database",
        "schema",
        "server",
        "clock",
        "tasks",
        "workers",
        "unserved",
        "dead letters",
        "expired leases",
        "deliveries",
        *{"sqlite": ["wal", "disk"], "postgres": ["transactions"]}[dialect],
    ]
    assert "wrong" not in result.stdout


def test_a_database_without_schema_is_wrong_and_the_advice_is_to_migrate(empty_url):
    result = CliRunner().invoke(root, ["doctor", "--url", empty_url, "--json"])
    assert result.exit_code == ExitCode.CHECK_FAILED
    wrong = [finding for finding in json.loads(result.stdout) if finding["grade"] == "wrong"]
    assert len(wrong) == 1
    assert "leasehold migrate" in wrong[0]["advice"]


def test_a_clock_that_differs_from_the_host_is_only_warned_of(store, command):
    Clock(store).advance(3600)
    result = command("doctor")
    assert result.exit_code == 0
    assert "\nclock           warn   the database is " in result.stdout


def test_a_worker_that_was_killed_is_reported_at_once_and_with_what_it_ran(processes, app, command, tmp_path):
    worker = processes.start("worker", "tests.support.apps.app:app", "--queue", "hold")
    until(lambda: worker.has_logged("worker_started"))
    app.submit("hold", {"name": "gate"})
    until((tmp_path / "journal").exists)
    assert "\nworkers         ok     1 registered, 1 known alive" in command("doctor").stdout
    worker.signal(signal.SIGKILL)
    worker.end()
    found = {finding["name"]: finding for finding in json.loads(command("doctor", "--json").stdout)}
    assert found["workers"]["grade"] == "warn"
    assert found["workers"]["text"] == "1 registered, 0 known alive on this host, 1 gone"
    assert "killed or crashed. 1 task waits for one; start `leasehold worker" in found["workers"]["advice"]


@MOUNT.mark
def test_a_full_disk_of_a_sqlite_file_is_wrong(sqlite_template):
    with small_disk(64) as room:
        shutil.copyfile(sqlite_template, room.folder / "jobs.db")
        words = ["doctor", "--url", f"sqlite:///{room.folder}/jobs.db", "--json"]
        before = CliRunner().invoke(root, words)
        room.fill()
        after = CliRunner().invoke(root, words)
    assert (before.exit_code, after.exit_code) == (0, ExitCode.CHECK_FAILED)
    [wrong] = [finding for finding in json.loads(after.stdout) if finding["grade"] == "wrong"]
    assert "Free some space" in wrong["advice"] or "No space is left" in wrong["advice"]


def test_the_doctor_never_shows_a_password():
    result = CliRunner().invoke(root, ["doctor", "--url", "postgresql://clerk:hunter22@127.0.0.1:1/shop"])
    assert result.exit_code == ExitCode.CHECK_FAILED
    assert "postgresql://clerk:***@127.0.0.1:1/shop" in result.stdout
    assert "DATABASE_UNAVAILABLE" in result.stdout
    assert "hunter22" not in result.output


def test_the_doctor_makes_no_file(tmp_path):
    result = CliRunner().invoke(root, ["doctor", "--url", f"sqlite:///{tmp_path}/shop.db"])
    assert result.exit_code == ExitCode.CHECK_FAILED
    assert list(tmp_path.iterdir()) == []


def test_migrate_prints_the_versions_before_and_after(empty_url):
    first = CliRunner().invoke(root, ["migrate", "--url", empty_url])
    again = CliRunner().invoke(root, ["migrate", "--url", empty_url])
    assert first.exit_code == again.exit_code == 0
    assert first.stdout.startswith("schema version 0 -> ")
    assert again.stdout.endswith(": nothing to do\n")
