"""What goes wrong is one line with a code that stays, and an exit code that shows who must act."""

import os

import pytest
from click.testing import CliRunner

from leasehold.cli.options import ExitCode, exit_code_of
from leasehold.cli.root import root
from leasehold.errors import (
    Broken,
    DatabaseUnavailable,
    KeyConflict,
    LeaseholdError,
    LeaseLost,
    Misuse,
    Overtaken,
    Unavailable,
    WaitTimeout,
)

NOBODY_LISTENS = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Misuse, 2),
        (KeyConflict, 2),
        (Unavailable, 3),
        (DatabaseUnavailable, 3),
        (WaitTimeout, 3),
        (Overtaken, 4),
        (LeaseLost, 4),
        (Broken, 5),
        (LeaseholdError, 5),
    ],
)
def test_the_exit_code_shows_who_must_act(error, code):
    assert exit_code_of(error()) == code


def test_an_error_is_one_line_on_standard_error_and_never_a_traceback(command):
    result = command("show", 4711)
    assert (result.exit_code, result.stdout) == (ExitCode.MISUSE, "")
    assert result.stderr.startswith("error JOB_UNKNOWN: There is no job with this id.")
    assert result.stderr.count("\n") == 1


def test_a_database_that_cannot_be_reached_has_an_exit_code_of_its_own_and_keeps_its_password():
    url = f"postgresql://clerk:hunter22@{NOBODY_LISTENS}/shop"
    result = CliRunner().invoke(root, ["jobs", "--url", url])
    assert result.exit_code == ExitCode.UNAVAILABLE
    assert result.stderr.startswith("error DATABASE_UNAVAILABLE: ")
    assert "hunter22" not in result.output


def test_a_password_that_breaks_its_url_is_not_quoted_in_the_error():
    result = CliRunner().invoke(root, ["jobs", "--url", "postgresql://clerk:hunter22/secret@db/shop"])
    assert result.exit_code in (ExitCode.MISUSE, ExitCode.UNAVAILABLE)
    assert result.stderr.startswith("error ")
    assert "hunter22" not in result.output
    assert "secret" not in result.output


@pytest.mark.parametrize("verb", ["jobs", "doctor"])
def test_a_password_with_an_at_sign_is_not_quoted_as_the_host(verb):
    result = CliRunner().invoke(root, [verb, "--url", "postgresql://u:sec@ret@host.invalid/shop"])
    assert result.exit_code in (ExitCode.CHECK_FAILED, ExitCode.UNAVAILABLE)
    assert "DATABASE_UNAVAILABLE: " in result.output
    assert "ret@host" not in result.output
    assert "write @ as %40" in result.output


def test_the_url_may_stand_before_or_after_the_verb(tmp_path):
    runner, url = CliRunner(), f"sqlite:///{tmp_path}/shop.db"
    assert runner.invoke(root, ["--url", url, "migrate"]).exit_code == 0
    assert runner.invoke(root, ["jobs", "--url", url]).exit_code == 0
    assert runner.invoke(root, ["--url", "sqlite:////nowhere/x.db", "jobs", "--url", url]).exit_code == 0


def test_a_verb_that_looks_at_a_file_that_is_not_there_does_not_make_it(tmp_path):
    for words in (["jobs"], ["show", "1"], ["queues"], ["cancel", "1"], ["submit", "greet"]):
        result = CliRunner().invoke(root, [*words, "--url", f"sqlite:///{tmp_path}/shop.db"])
        assert (result.exit_code, result.stderr[:21]) == (ExitCode.MISUSE, "error SCHEMA_MISSING:")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["show", "9" * 30], ["jobs", "--before", "9" * 30], ["cancel", "0"], ["nonsense"]])
def test_what_cannot_be_meant_is_refused_before_the_database_is_asked(words):
    assert CliRunner().invoke(root, words).exit_code == ExitCode.MISUSE


def test_a_reader_that_goes_away_is_not_an_error_worth_a_word(processes):
    away, end = os.pipe()
    os.close(away)
    with os.fdopen(end, "wb") as output:
        result = processes.run("jobs", "--json", stdout=output)
    assert (result.returncode, result.stderr) == (ExitCode.READER_GONE, "")


def test_output_that_knows_few_characters_still_gets_all_lines(processes, app):
    app.submit("greet", {"name": "Zoë"}, key="naïve ☃")
    processes.environment["PYTHONIOENCODING"] = "latin-1"
    result = processes.run("jobs", encoding="latin-1")
    assert result.returncode == 0
    assert "naïve \\u2603" in result.stdout
