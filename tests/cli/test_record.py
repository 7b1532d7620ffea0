"""`export`, `verify`, `replay`, `events` and `prune`: what operators do with what is on record."""

import json
import signal

import pytest

from leasehold.cli.options import ExitCode
from leasehold.testing import Clock
from tests.support.wait import until


@pytest.fixture
def job(app):
    """A pipeline that has ended."""
    made = app.submit("film", {"scenes": 2}, key="a.md")
    app.drain(timeout=60)
    return made.id


@pytest.fixture
def exported(command, job, tmp_path):
    path = tmp_path / "job.ndjson"
    result = command("export", job)
    assert result.exit_code == 0
    path.write_bytes(result.stdout_bytes)
    return path


def test_a_job_is_exported_and_both_it_and_its_record_are_verified(command, job, exported):
    of_job, of_file = command("verify", job), command("verify", exported)
    assert (of_job.exit_code, of_file.exit_code) == (0, 0)
    assert of_job.stdout == of_file.stdout
    verdict, head = of_job.stdout.splitlines()
    assert verdict == "equal: 6 tasks, 17 events, 0 effects"
    assert head.split()[1] == json.loads(exported.read_bytes().splitlines()[-1])["events_sha256"]


def test_a_head_that_was_kept_shows_whether_the_events_are_the_same(command, job):
    head = json.loads(command("verify", job, "--json").stdout)["head"]
    assert command("verify", job, "--head", head.upper()).exit_code == 0
    other = command("verify", job, "--head", "0" * 64)
    assert other.exit_code == ExitCode.CHECK_FAILED
    assert other.stdout == f"different: the head of the events should be {'0' * 64} and is {head}\n"


def test_a_changed_record_is_named_by_its_line(command, exported):
    exported.write_bytes(exported.read_bytes().replace(b'"scenes":2', b'"scenes":3', 1))
    result = command("verify", exported, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["equal"]) == (ExitCode.CHECK_FAILED, False)
    assert found["difference"].startswith("line 1: ")


def test_a_job_that_is_not_there_is_neither_exported_nor_verified(command, job):
    for verb in ("export", "verify", "events"):
        result = command(verb, job + 1000)
        assert (result.exit_code, result.stdout) == (ExitCode.MISUSE, "")
        assert result.stderr.startswith("error JOB_UNKNOWN")


def test_a_record_is_replayed_by_the_app_that_made_it(command, app, processes):
    app.submit("film", {"scenes": 2}, key="unused")
    worker = processes.start("worker", "tests.support.apps.app:app")
    until(lambda: worker.has_logged("worker_started"))
    made = int(command("submit", "quick", '{"number": 7}').stdout)
    until(lambda: json.loads(command("show", made, "--json").stdout)["status"] == "DONE")
    worker.kill()
    path = processes.environment["WORKSHOP_FOLDER"] + "/quick.ndjson"
    with open(path, "wb") as file:  # noqa: PTH123 — a path of another process
        file.write(command("export", made).stdout_bytes)
    ran = processes.run("replay", path, "tests.support.apps.app:app")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("equal: 1 task run again, 0 checked by the journal alone, 0 effects")
    other = processes.run("replay", path, "tests.cli.other:app", "--json")
    assert other.returncode == ExitCode.MISUSE


def test_the_journal_is_shown_to_people_and_to_programs(command, job):
    shown = command("events", job).stdout.splitlines()
    assert len(shown) == 17
    assert "  film/audio [1]  claimed  attempt 1  worker 1" in "\n".join(shown)
    lines = [json.loads(line) for line in command("events", "--json").stdout.splitlines()]
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines)
    later = command("events", job, "--json", "--after", lines[-2]["id"]).stdout.splitlines()
    assert [json.loads(line) for line in later] == lines[-1:]


def test_the_journal_is_followed_into_a_file_until_a_signal(app, processes, tmp_path):
    path = tmp_path / "journal.ndjson"
    app.submit("greet", {"name": "Ada"})
    follower = processes.start("events", "--follow", "--out", path)
    until(lambda: path.exists() and path.read_bytes().count(b"\n") == 1)
    app.drain(timeout=60)
    until(lambda: path.read_bytes().count(b"\n") == 3)
    second = processes.run("events", "--out", path)
    assert (second.returncode, "PROJECTION_BUSY" in second.stderr) == (ExitCode.UNAVAILABLE, True)
    follower.signal(signal.SIGINT)
    assert follower.end() == ExitCode.INTERRUPTED
    assert [json.loads(line)["name"] for line in path.read_bytes().splitlines()] == ["submitted", "claimed", "done"]


def test_old_jobs_are_counted_and_then_removed(app, command, job):
    refused = app.submit("refuse", {"why": "no"})
    app.drain(timeout=60)
    Clock(app).advance(31 * 24 * 3600)
    dry = command("prune", "--older-than", "30d", "--dry-run")
    assert dry.stdout == "would remove 1 job with 6 tasks; 1 job as old would stay\n"
    result = command("prune", "--older-than", "30d")
    assert result.stdout.startswith("removed 1 job with 6 tasks, 17 events, 0 effects, and ")
    assert [one.id for one in app.jobs()] == [refused.id]
    swept = json.loads(command("prune", "--older-than", "30d", "--json").stdout)
    assert (swept["pruned"]["jobs"], swept["kept"]) == (0, 1)


@pytest.mark.parametrize("age", ["30", "d", "-1d", "1w", "1.5d", ""])
def test_an_age_that_cannot_be_read_is_refused(command, app, age):
    result = command("prune", "--older-than", age)
    assert (result.exit_code, result.stderr.partition(":")[0]) == (ExitCode.MISUSE, "error OPTION_INVALID")
