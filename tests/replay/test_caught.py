"""Replays of handlers that catch what their effects raise, and of those that look at the clock."""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from leasehold import Leasehold, Misuse, Permanent, Retry, Transient
from leasehold.model.failure.failure import classify
from leasehold.model.failure.named import LINEAGE_MAX, lineage_of
from leasehold.model.journal.record import Line, RecordCodec, RecordCounts, TaskRecord
from leasehold.runtime.replay.errors import Recorded, find_type
from tests.conftest import sqlite_url
from tests.replay import catching_handlers
from tests.support.processes.fork_server import run_module

HOME = catching_handlers.__name__
CAUGHT = {
    "value": {"caught": "value or look-up", "text": "7 is not a number"},
    "custom": {"caught": "OutOfStock", "text": "no Kaffee in bin 7"},
    "nested": {"caught": "Stocks.Empty", "text": "no Tee in bin 3"},
    "key": {"caught": "value or look-up", "text": "'kaffee'"},
    "system": {"caught": "system", "errno": 2},
    "answered": {"caught": "status", "status": 404},
    "http": {"caught": "status", "status": 404},
    "process": {"caught": "process", "code": 3},
    "local": {"caught": "value or look-up", "text": "somewhere"},
    "decode": {
        "caught": "value or look-up",
        "text": "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    },
    "own": {"caught": "SHOP_CLOSED", "text": "later", "after": 2.5},
}


@pytest.fixture(scope="session")
def both_caught(postgres, postgres_template, tmp_path_factory):
    """The records of the same jobs on SQLite and on PostgreSQL."""
    url = postgres.create_database(template=postgres_template)
    folders = {name: tmp_path_factory.mktemp(f"caught-{name}") for name in ("sqlite", "postgres")}
    for name, folder in folders.items():
        known = {"LEASEHOLD_URL": url if name == "postgres" else sqlite_url(folder)}
        ran = run_module(HOME, str(folder), env=os.environ | known)
        assert ran.returncode == 0, ran.stderr
    yield folders
    postgres.drop_database(url)


@pytest.fixture
def caught(both_caught, dialect) -> Path:
    return both_caught[dialect]


def lines_of(path: Path, kind: str) -> list[dict]:
    return [line for line in map(json.loads, path.read_bytes().splitlines()) if line["line"] == kind]


def output_of(path: Path) -> dict:
    return lines_of(path, "outcome")[-1]["output"]


def forged(path: Path, folder: Path, change: Callable[[dict], object]) -> Path:
    """Return the record of one task, with its lines changed, counted and encoded again."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for fields in lines:
        del fields["hash"]
        change(fields)
    opening, task, *rest, _ = [msgspec.convert(fields, type=Line) for fields in lines]
    record, codec, counts, found = TaskRecord(task), RecordCodec(), RecordCounts(), folder / "forged.ndjson"
    for line in rest:
        record.add(line)
    counts.add(record)
    found.write_bytes(b"".join(codec.encode(line) for line in (opening, *record.lines(), counts.closing())))
    return found


@pytest.mark.parametrize("name", CAUGHT)
def test_a_handler_that_caught_what_its_effect_raised_catches_it_in_a_replay(caught, name):
    path = caught / f"attempt {name}.ndjson"
    assert output_of(path) == CAUGHT[name]
    found = catching_handlers.app.journal.replay(path)
    assert (found.equal, found.divergence) == (True, None)


@pytest.mark.parametrize("key", ["apart value", "apart custom", "awaiting value", "awaiting custom"])
def test_isolated_and_async_handlers_catch_it_in_a_replay_too(caught, key):
    path = caught / f"{key}.ndjson"
    assert output_of(path)["caught"] in ("value or look-up", "OutOfStock", "ValueError")
    found = catching_handlers.app.journal.replay(path)
    assert (found.equal, found.divergence) == (True, None)


def test_what_was_raised_from_a_recorded_failure_has_the_class_it_had(caught):
    path = caught / "wrapping.ndjson"
    assert lines_of(path, "outcome")[-1]["failure"]["error_class"] == "NOT_FOUND"
    found = catching_handlers.app.journal.replay(path)
    assert (found.equal, found.divergence) == (True, None)


@pytest.mark.parametrize("how", ["none", "lookup", "idempotent", "at once", "async"])
def test_a_handler_that_shrugged_off_an_effect_in_doubt_is_stopped_in_a_replay_too(caught, how):
    path = caught / f"shrugging {how}.ndjson"
    assert lines_of(path, "outcome")[-1]["failure"]["error_class"] == "EFFECT_IN_DOUBT"
    catching_handlers.ACTED.clear()
    found = catching_handlers.app.journal.replay(path)
    assert (found.equal, found.divergence) == (True, None)
    assert catching_handlers.ACTED == []


@pytest.mark.parametrize(
    "error",
    [
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        UnicodeEncodeError("ascii", "é", 0, 1, "ordinal not in range(128)"),
        UnicodeTranslateError("é", 0, 1, "no such character"),
        SyntaxError("invalid syntax", ("shop.py", 3, 5, "buy tea")),
        IndentationError("unexpected indent"),
        FileNotFoundError(2, "No such file or directory", "tea.txt"),
        ModuleNotFoundError("No module named 'tea'", name="tea"),
        json.JSONDecodeError("Expecting value", "tea", 0),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_recorded_failure_has_the_same_text_in_a_replay(error):
    found = Recorded(json.loads(classify(error).text(lineage_of(error))), HOME).error()
    assert isinstance(found, type(error))
    assert str(found) == str(error)


def test_a_handler_that_no_longer_catches_it_is_the_divergence(caught):
    app = Leasehold("sqlite:////nowhere/at/all.db")

    @app.job(retry=Retry(attempts=1))
    def attempt(task, name):
        try:
            task.effect("CALL", lambda: None, name=name)
        except KeyError:
            return CAUGHT["value"]

    found = app.journal.replay(caught / "attempt value.ndjson")
    assert found.divergence is not None
    assert (found.divergence.what, found.divergence.expected) == ("status", "DONE")


def test_a_record_has_nothing_imported_and_nothing_run(caught, tmp_path, monkeypatch):
    """The module that it names would be found, and records that it is imported."""
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Error(ValueError): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def change(line: dict) -> None:
        if line["line"] == "effect":
            line["failure"]["raised"] = ["evil:Error", "builtins:ValueError"]

    found = catching_handlers.app.journal.replay(forged(caught / "attempt value.ndjson", tmp_path, change))
    assert (found.equal, found.divergence) == (True, None)
    assert "evil" not in sys.modules
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name",
    [
        "nowhere_imported:Error",
        "builtins:eval",
        "builtins:str",
        "builtins:KeyboardInterrupt",
        "builtins:BaseException",
        "leasehold.runtime.replay.ledger:Diverged",
        "os:path.join",
        "builtins:ValueError.__subclasses__",
        f"{HOME}:make_local.<locals>.Local",
        "builtins",
        "ValueError",
        ":",
        "a" * 300 + ":B",
        7,
        None,
    ],
)
def test_only_an_exception_that_is_imported_already_is_found_by_name(name):
    assert find_type(name, HOME) is None


def test_a_module_is_not_asked_for_what_it_would_have_to_import(tmp_path, monkeypatch):
    (tmp_path / "lazy_shop.py").write_text("class Error(Exception): ...\ndef __getattr__(name): raise SystemExit(9)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("lazy_shop")
    assert find_type("lazy_shop:Error", HOME) is sys.modules["lazy_shop"].Error
    assert find_type("lazy_shop:Other", HOME) is None
    assert find_type("__main__:OutOfStock", HOME) is catching_handlers.OutOfStock


class Counted(ValueError):
    made = 0

    def __new__(cls, *given: object):
        cls.made += 1
        return super().__new__(cls, *given)

    def __init__(self, *given: object) -> None:
        type(self).made += 1
        super().__init__(*given)


def test_no_constructor_runs_to_make_a_recorded_failure():
    error = Recorded({"raised": [f"{__name__}:Counted"], "message": "Counted: so it was"}, HOME).error()
    assert (type(error), str(error), Counted.made) == (Counted, "so it was", 0)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ({}, Permanent),
        ({"retryable": True, "message": "X: y", "error_class": "NETWORK_DNS"}, Transient),
        ({"raised": ["builtins:ExceptionGroup"], "message": "ExceptionGroup: two"}, Permanent),
        ({"raised": "builtins:ValueError", "error_class": 7, "context": []}, Permanent),
        ({"raised": ["builtins:OSError"], "context": {"errno": "no", "http_status": "x", "signal": None}}, OSError),
    ],
)
def test_a_failure_that_cannot_be_made_as_it_was_is_a_signal_of_ours(failure, kind):
    recorded = Recorded(failure, HOME)
    error = recorded.error()
    assert type(error) is kind
    found = recorded.verdict()
    assert found is None or found.error_class == "NETWORK_DNS"


def test_the_names_of_an_errors_types_are_few_and_can_be_found_again():
    kind: type = ValueError
    for number in range(20):
        kind = type(f"Deep{number}", (kind,), {})
    assert len(lineage_of(kind())) == LINEAGE_MAX
    assert lineage_of(catching_handlers.make_local()) == ["builtins:LookupError"]
    assert lineage_of(Exception("x")) == []
    assert "raised" not in classify(ValueError("x")).text()


@pytest.mark.parametrize("kind", ["timed", "timed_apart"])
def test_the_time_an_attempt_started_is_that_of_its_claim_then_and_in_a_replay(caught, kind):
    path = caught / f"{kind}.ndjson"
    claimed = next(line["at"] for line in lines_of(path, "event") if line["name"] == "claimed")
    time_read = datetime.fromisoformat(output_of(path)["at"])
    assert time_read.tzinfo == UTC
    assert round(time_read.timestamp() * 1_000_000) == claimed > lines_of(path, "task")[0]["created_at"]
    found = catching_handlers.app.journal.replay(path)
    assert (found.equal, found.divergence) == (True, None)


def retries(path: Path) -> list[dict]:
    return [line["detail"] for line in lines_of(path, "event") if line["name"] == "retried"]


def test_a_pause_that_was_asked_for_is_replayed_to_the_microsecond(caught):
    path = caught / "paused.ndjson"
    first, second = retries(path)
    assert (first["delay_us"], first["retry_after"], "retry_after" in second) == (17_500_000, 17.5, False)
    found = catching_handlers.app.journal.replay(path)
    assert (found.equal, found.divergence) == (True, None)


@pytest.mark.parametrize("asked", [17.6, 17.4, None])
def test_a_recorded_delay_that_is_not_the_one_asked_for_is_the_divergence(caught, tmp_path, asked):
    def change(line: dict) -> None:
        if line["line"] == "event" and line["name"] == "retried" and "retry_after" in line["detail"]:
            line["detail"]["retry_after"] = asked

    found = catching_handlers.app.journal.replay(forged(caught / "paused.ndjson", tmp_path, change))
    assert found.divergence is not None
    assert (found.divergence.what, found.divergence.expected) == ("delay of a retry, in microseconds", "17500000")


class Refusal(Misuse, code="SHOP_REFUSED"):
    """An error of a user's own whose text needs what its constructor sets."""

    def __init__(self, amount: int) -> None:
        super().__init__()
        self.amount = amount

    def __str__(self) -> str:
        return f"refused {self.amount}"


def test_an_error_derived_from_the_engines_own_has_its_recorded_text():
    failure = {"raised": [f"{__name__}:Refusal"], "message": "Refusal: refused 7", "error_class": "SHOP_REFUSED"}
    error = Recorded(failure, __name__).error()
    assert isinstance(error, Refusal)
    assert (str(error), error.code) == ("refused 7", "SHOP_REFUSED")


def test_a_subclass_of_an_error_may_have_class_keywords_of_its_own():
    class Tagged:
        tag = ""

        def __init_subclass__(cls, tag: str = "", **more: object) -> None:
            super().__init_subclass__(**more)
            cls.tag = tag

    class Both(Misuse, Tagged, code="BOTH", tag="a"):
        """Both."""

    assert (Both.code, Both.tag) == ("BOTH", "a")
