"""Replays of handlers that deliver: every message on record is posted again, and no other."""

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from leasehold import Leasehold

TEXT = {"text": "Danke"}


def app_of(url: str, deliver: Callable) -> Leasehold:
    app = Leasehold(url)

    @app.job
    def thank(task):
        deliver(task)

    return app


def recorded(url: str, path: Path, deliver: Callable) -> Path:
    """Run the job and return its record."""
    with contextlib.closing(app_of(url, deliver)) as app, path.open("w+b") as file:
        job = app.submit("thank")
        app.drain(timeout=60)
        assert job.status == "DONE"
        app.journal.export(job.id, file)
    return path


def replayed(path: Path, deliver: Callable) -> tuple[str, str | None, str | None] | None:
    """Replay with this code and return the divergence."""
    found = app_of("sqlite:////nowhere/at/all.db", deliver).journal.replay(path)
    assert found.equal == (found.divergence is None)
    one = found.divergence
    return None if one is None else (one.what, one.expected, one.found)


def nothing(task):
    return None


def one(task):
    task.deliver("order 7", "ada@example.org", 1, TEXT)


def two(task):
    one(task)
    task.deliver("order 7", "bob@example.org", 1, TEXT)


def two_turned(task):
    task.deliver("order 7", "bob@example.org", 1, TEXT)
    one(task)


def reworded(task):
    task.deliver("order 7", "ada@example.org", 1, {"text": "Merci"})


def rerouted(task):
    task.deliver("order 7", "ada@example.org", 1, TEXT, provider="fax")


ADA = "delivery of 'order 7' to 'ada@example.org', version 1"
BOB = "delivery of 'order 7' to 'bob@example.org', version 1"
MESSAGE = '["{\\"text\\":\\"Danke\\"}","default"]'


@pytest.mark.parametrize("same", [nothing, one, two])
def test_the_same_messages_are_equal(url, tmp_path, same):
    assert replayed(recorded(url, tmp_path / "a.ndjson", same), same) is None


@pytest.mark.parametrize(
    ("then", "now", "what", "expected", "found"),
    [
        (nothing, one, ADA, None, MESSAGE),
        (one, two, BOB, None, MESSAGE),
        (two, one, BOB, MESSAGE, "null"),
        (one, nothing, ADA, MESSAGE, "null"),
        (one, reworded, ADA, MESSAGE, MESSAGE.replace("Danke", "Merci")),
        (one, rerouted, ADA, MESSAGE, MESSAGE.replace("default", "fax")),
    ],
)
def test_a_message_more_or_less_or_another_is_the_divergence(url, tmp_path, then, now, what, expected, found):
    assert replayed(recorded(url, tmp_path / "a.ndjson", then), now) == (what, expected, found)


def test_a_message_that_stood_before_is_posted_again_or_that_is_the_divergence(url, tmp_path):
    """What an earlier job had posted is not on record as this one's."""
    recorded(url, tmp_path / "a.ndjson", one)
    path = recorded(url, tmp_path / "b.ndjson", one)
    assert b'"line":"delivery"' not in path.read_bytes()
    assert replayed(path, one) is None
    assert replayed(path, nothing) == ("number of deliveries", "1", "0")
    assert replayed(path, two) == (BOB, None, MESSAGE)
    assert replayed(path, reworded) == (ADA, None, MESSAGE.replace("Danke", "Merci"))


def test_messages_in_another_order_are_the_divergence(url, tmp_path):
    found = replayed(recorded(url, tmp_path / "a.ndjson", two), two_turned)
    assert found is not None
    assert (found[0], found[1] != found[2]) == ("order of deliveries", True)
