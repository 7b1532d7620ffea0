"""Commands that read make nothing: no file, no schema; and report what is missing."""

import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from leasehold import Leasehold
from leasehold.cli.options import ExitCode
from leasehold.cli.root import root
from tests.support.db import rows
from tests.support.disks.small_disk import small_disk
from tests.support.needs import MOUNT

READS = (
    "jobs",
    "show 1",
    "events",
    "events 1 --json",
    "effects 1",
    "explain 1",
    "export 1",
    "verify 1",
    "dead list",
    "dead show 1",
    "deliveries list",
    "deliveries show 1",
    "queues list",
    "prune --older-than 1d --dry-run",
    "submit greet",
    "cancel 1",
)


def run(words, url):
    return CliRunner().invoke(root, [*words.split(), "--url", url], prog_name="leasehold")


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def schemas(url):
    return rows(url, "SELECT nspname FROM pg_namespace WHERE nspname = 'leasehold'") if "postgres" in url else []


@pytest.mark.parametrize("words", READS)
def test_a_command_that_reads_makes_neither_a_file_nor_a_schema(words, empty_url, tmp_path):
    result = run(words, empty_url)
    assert result.exit_code == ExitCode.MISUSE
    assert result.stderr.startswith("error SCHEMA_MISSING: ")
    assert "run `leasehold migrate`" in result.stderr
    assert ("give its --url or set LEASEHOLD_URL" in result.stderr) == empty_url.startswith("sqlite")
    assert (contents(tmp_path), schemas(empty_url)) == ({}, [])


def test_the_doctor_makes_neither_a_file_nor_a_schema(empty_url, tmp_path):
    result = run("doctor", empty_url)
    assert result.exit_code == ExitCode.CHECK_FAILED
    assert "leasehold migrate" in result.stdout
    assert (contents(tmp_path), schemas(empty_url)) == ({}, [])


@pytest.mark.parametrize("words", ["jobs", "doctor"])
@pytest.mark.parametrize("script", ["", "CREATE TABLE meta (name, value)"], ids=["empty", "of another program"])
def test_a_file_that_is_not_ours_is_read_and_left_as_it_is(words, script, tmp_path):
    (tmp_path / "other.db").touch()
    with closing(apsw.Connection(str(tmp_path / "other.db"))) as connection:
        connection.execute(script)
    before = contents(tmp_path)
    result = run(words, f"sqlite:///{tmp_path}/other.db")
    assert result.exit_code == (ExitCode.MISUSE if words == "jobs" else ExitCode.CHECK_FAILED)
    assert "leasehold migrate" in result.output
    assert contents(tmp_path) == before


def test_a_file_that_is_no_database_is_refused_by_name(tmp_path):
    (tmp_path / "notes.txt").write_text("Not a database, but long enough to be taken for one. " * 40)
    result = run("jobs", f"sqlite:///{tmp_path}/notes.txt")
    assert result.exit_code == ExitCode.MISUSE
    assert result.stderr.startswith("error URL_INVALID: ")
    assert "notes.txt cannot be opened" in result.stderr


@MOUNT.mark
def test_a_database_on_a_disk_for_reading_only_is_reported_as_a_missing_right(sqlite_template):
    with small_disk(8) as disk:
        shutil.copyfile(sqlite_template, disk.folder / "jobs.db")
        subprocess.run(["mount", "-o", "remount,ro", str(disk.folder)], check=True)  # noqa: S607
        result = run("jobs", f"sqlite:///{disk.folder}/jobs.db")
        assert list(disk.folder.iterdir()) == [disk.folder / "jobs.db"]
    assert result.exit_code == ExitCode.UNAVAILABLE
    assert result.stderr.startswith("error RIGHTS_MISSING: ")
    assert "jobs.db" in result.stderr
    assert "SQLite needs the right to read and write the file and its folder" in result.stderr


@MOUNT.mark
def test_a_full_disk_is_reported_as_a_full_disk_and_work_goes_on_when_there_is_room(sqlite_template):
    with small_disk(8) as disk:
        shutil.copyfile(sqlite_template, disk.folder / "jobs.db")
        url = f"sqlite:///{disk.folder}/jobs.db"
        with closing(Leasehold(url)) as app:
            app.job(greet)
            app.migrate()
        disk.fill()
        refused = run("submit greet", url)
        disk.clear()
        assert run("submit greet", url).exit_code == ExitCode.OK
    assert refused.exit_code == ExitCode.UNAVAILABLE
    assert refused.stderr.startswith("error DISK_FULL: No space is left on the disk")
    assert "cannot be reached" not in refused.stderr


@MOUNT.mark
def test_a_folder_that_cannot_be_written_to_is_named_without_a_traceback(processes, tmp_path):
    manifest = tmp_path / "files.txt"
    manifest.write_text("http://127.0.0.1:9/file\n")
    with small_disk(1) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk.folder)], check=True)  # noqa: S607
        ran = processes.run("download", str(manifest), "--out", str(disk.folder / "files"))
    assert ran.returncode == ExitCode.MISUSE
    assert ran.stderr.startswith(f"error: {disk.folder}/files: Read-only file system")
    assert ran.stderr.count("\n") == 1


def test_output_that_a_full_disk_does_not_take_is_reported_as_a_full_disk(processes):
    with Path("/dev/full").open("wb") as full:
        ran = processes.run("queues", "--help", stdout=full)
    assert ran.returncode == ExitCode.UNAVAILABLE
    assert ran.stderr.startswith("error DISK_FULL: ")
    assert ran.stderr.count("\n") == 1


def greet() -> str:
    return "hello"
