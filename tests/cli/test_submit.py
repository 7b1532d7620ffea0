"""`leasehold submit`: strict JSON in, a job id out."""

import json
from datetime import date
from typing import TypedDict

import pytest

from leasehold.cli.options import ExitCode
from tests.support.processes.fork_server import ROOT
from tests.support.wait import until


@pytest.fixture(autouse=True)
def published(app):
    """The kinds of the app are known on the database, as after a worker has started once."""
    app.drain(timeout=60)


def test_a_submit_prints_the_id_of_the_job_it_made(app, command):
    result = command("submit", "greet", '{"name": "Ada"}', "--priority", 3)
    job = app.get(int(result.stdout))
    assert (result.exit_code, job.kind, job.payload) == (0, "greet", {"name": "Ada"})


def test_a_submit_with_the_same_key_finds_the_job_that_is_there(command):
    first = command("submit", "greet", '{"name": "Ada"}', "--key", "ada")
    again = command("submit", "greet", '{"name": "Ada"}', "--key", "ada")
    other = command("submit", "greet", '{"name": "Bob"}', "--key", "ada")
    assert first.stdout == again.stdout
    assert (other.exit_code, other.stderr[:19]) == (ExitCode.MISUSE, "error KEY_CONFLICT:")


def test_a_payload_may_come_from_standard_input(app, command):
    result = command("submit", "greet", "-", text='{"name": "Zoë"}')
    assert app.get(int(result.stdout)).payload == {"name": "Zoë"}


def test_a_job_is_printed_whole_for_programs(command):
    answer = json.loads(command("submit", "film", '{"scenes": 2}', "--delay", 60, "--json").stdout)
    assert (answer["kind"], answer["status"], answer["payload"]) == ("film", "NEW", {"scenes": 2})


@pytest.mark.parametrize(
    ("words", "text", "code"),
    [
        (["greet", "{'name': 1}"], None, "PAYLOAD_INVALID"),
        (["greet", '{"name": NaN}'], None, "PAYLOAD_INVALID"),
        (["greet", '{"name": 1, "name": 2}'], None, "PAYLOAD_INVALID"),
        (["greet", '{"name": "\\u0000"}'], None, "PAYLOAD_INVALID"),
        (["greet", "[1]"], None, "PAYLOAD_INVALID"),
        (["greet", "[" * 100_000], None, "PAYLOAD_TOO_DEEP"),
        (["greet", "-"], b'{"name": "\xff"}', "PAYLOAD_INVALID"),
        (["greet", "-"], b" " * 5_000_000, "PAYLOAD_TOO_LARGE"),
        (["greet", "{}"], None, "ARGUMENTS_INVALID"),
        (["greet", '{"name": "Ada", "nam": 1}'], None, "ARGUMENTS_INVALID"),
        (["film", '{"scene": 3}'], None, "ARGUMENTS_INVALID"),
        (["film", '{"scenes": "3"}'], None, "ARGUMENTS_INVALID"),
        (["nobody"], None, "KIND_UNKNOWN"),
        (["Greet!"], None, "NAME_INVALID"),
        (["greet", "--priority", "40000"], None, "OPTION_INVALID"),
        (["greet", "--delay", "nan"], None, "OPTION_INVALID"),
        (["greet", "--wait", "--timeout", "nan"], None, "OPTION_INVALID"),
    ],
)
def test_bad_input_is_refused_with_a_code_and_nothing_is_submitted(app, command, words, text, code):
    result = command("submit", *words, text=text)
    assert (result.exit_code, result.stderr.partition(":")[0]) == (ExitCode.MISUSE, f"error {code}")
    assert app.jobs() == []


class Place(TypedDict):
    city: str


def check(
    count: int = 0,
    share: float = 0.0,
    tags: list[str] | None = None,
    size: "int | str" = 0,
    note: str = None,  # type: ignore[assignment]  # noqa: RUF013
    place: Place | None = None,
    day: int | date = 0,
    plain=None,
    **more: int,
): ...


@pytest.mark.parametrize(
    ("field", "good", "bad", "words"),
    [
        ("count", ["7"], ["7.5", "true", '"7"', "null", "[7]"], "count must be a whole number; got "),
        ("share", ["7", "0.5"], ["true", '"x"'], "share must be a number; got "),
        ("tags", ["[1]", "null"], ['"a"', "{}"], "tags must be a list or null; got "),
        ("size", ["7", '"7 m"'], ["0.5", "{}"], "size must be a whole number or a text; got "),
        ("note", ['"a"', "null"], ["7"], "note must be a text or null; got a whole number."),
        ("place", ['{"city": 7}'], ["[]"], "place must be an object or null; got a list."),
        ("day", ['"2026-11-18"', "{}"], [], ""),
        ("plain", ['"a"', "{}"], [], ""),
        ("more", ['"a"'], [], ""),
    ],
)
def test_a_field_of_another_type_than_its_annotation_is_refused_here_and_not_in_python(
    app, command, field, good, bad, words
):
    kind = app.job(check)
    app.migrate()
    for text in bad:
        refused = command("submit", "check", f'{{"{field}": {text}}}')
        assert refused.exit_code == ExitCode.MISUSE
        assert refused.stderr.startswith("error ARGUMENTS_INVALID: ")
        assert f"Handler 'check': {words}" in refused.stderr
        assert kind.submit({field: json.loads(text)}).status == "READY"
    for text in good:
        assert command("submit", "check", f'{{"{field}": {text}}}').exit_code == ExitCode.OK


def test_waiting_for_a_job_prints_how_it_ended(app, processes, command):
    worker = processes.start("worker", "tests.support.apps.app:app", "--queue", "default")
    until(lambda: worker.has_logged("worker_started"))
    done = command("submit", "quick", '{"number": 5}', "--wait", "--timeout", 60)
    assert (done.exit_code, done.stdout.splitlines()[1:]) == (0, ["DONE 5"])
    failed = command("submit", "refused", "--wait", "--timeout", 60)
    assert failed.exit_code == ExitCode.CHECK_FAILED
    assert failed.stdout.splitlines()[1] == "ERROR PERMANENT: Permanent: not with me"


def test_a_wait_that_takes_too_long_has_an_exit_code_of_its_own(command):
    result = command("submit", "greet", '{"name": "Ada"}', "--wait", "--timeout", 0.05)
    assert (result.exit_code, result.stderr.partition(":")[0]) == (ExitCode.UNAVAILABLE, "error WAIT_TIMEOUT")


def test_an_app_that_is_named_brings_its_kinds_and_checks_their_arguments(processes):
    good = processes.run("submit", "quick", '{"number": 5}', "--app", "tests.support.apps.app:app", cwd=ROOT)
    bad = processes.run("submit", "quick", '{"numbers": 5}', "--app", "tests.support.apps.app:app", cwd=ROOT)
    assert (good.returncode, good.stdout.strip().isdigit()) == (0, True)
    wrong = processes.run("submit", "quick", '{"number": "5"}', "--app", "tests.support.apps.app:app", cwd=ROOT)
    for one in (bad, wrong):
        assert (one.returncode, one.stderr.partition(":")[0]) == (ExitCode.MISUSE, "error ARGUMENTS_INVALID")
