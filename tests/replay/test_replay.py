"""Replay: the recorded handlers run again, answered from the record, with the same bytes for an answer everywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leasehold import Leasehold, Permanent, Retry, Transient
from leasehold.errors import RecordDamaged
from leasehold.runtime.replay.replayer import replay
from tests.replay.recorder import JOBS
from tests.support.processes.fork_server import ROOT

# In another year, for whatever asks Python for the time.
ANOTHER_YEAR = """
import time
_now = time.time_ns
time.time_ns = lambda: _now() + {years} * 31_557_600_000_000_000
time.time = lambda: time.time_ns() / 1e9
"""
PLACES = [
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C", "years": "0"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "years": "31"},
    {"PYTHONHASHSEED": "4242", "TZ": "America/St_Johns", "LC_ALL": "POSIX", "years": "-20"},
]


def replay_elsewhere(
    path: Path, folder: Path, place: dict[str, str], *words: str
) -> subprocess.CompletedProcess[bytes]:
    """Replay in a fresh process: another hash seed, zone, locale, directory and year, and no database to be found."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(ANOTHER_YEAR.format(years=place["years"]))
    known = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "LEASEHOLD_URL": "sqlite:////nowhere/at/all.db",
        "SHOP_ACTS": str(folder / "acts"),
    }
    return subprocess.run(
        [sys.executable, "-m", "leasehold", "replay", str(path), "tests.replay.shop:app", *words],
        cwd=folder,
        env=known | {name: value for name, value in place.items() if name != "years"},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize(("kind", "words"), [*((kind, ("--json",)) for kind in JOBS), ("film", ())])
def test_s8_three_fresh_processes_give_the_same_bytes_from_both_databases(both_records, tmp_path, kind, words):
    answers = set()
    for number, place in enumerate(PLACES):
        path = both_records["sqlite" if number % 2 else "postgres"][kind]
        ran = replay_elsewhere(path, tmp_path / f"place-{number}", place, *words)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert not (tmp_path / f"place-{number}" / "acts").exists(), "an effect was done"
        answers.add(ran.stdout)
    assert len(answers) == 1


def test_a_replay_counts_what_it_ran_and_what_came_from_the_journal_alone(both_records, tmp_path):
    ran = replay_elsewhere(both_records["sqlite"]["film"], tmp_path / "a", PLACES[0], "--json")
    found = json.loads(ran.stdout)
    assert (found["equal"], found["tasks"], found["journal_only"], found["effects"]) == (True, 6, 2, 4)
    assert len(found["digest"]) == 64


def never(*_):
    raise AssertionError("an effect was done")


def diverged(path: Path, handler, machine=lambda _: None) -> tuple[str, str | None, str | None]:
    """Replay with another handler and return the first divergence."""
    app = Leasehold("sqlite:////nowhere/at/all.db")
    app.job(retry=Retry(attempts=4, delay_initial=10, delay_max=60), machine=machine(app))(handler)
    found = app.journal.replay(path)
    assert not found.equal
    assert found.divergence is not None
    return found.divergence.what, found.divergence.expected, found.divergence.found


def test_another_output_is_the_divergence(records):
    def order(task, item, price):
        task.effect("RESERVE", never, item=item)
        task.effect("PAY", never, amount=price)
        task.transaction("BOOK", never, item=item)
        task.deliver(f"order {item}", "ada@example.org", 1, {"text": f"Danke für {item} ☕"})
        return {"price": price}

    what, expected, found = diverged(records["order"], order)
    assert (what, found) == ("output", '{"price":4.5}')
    assert expected is not None
    assert expected.startswith('{"booked":17,')


def test_effects_asked_for_in_another_order_are_the_divergence(records):
    def order(task, item, price):
        task.effect("PAY", never, amount=price)
        task.effect("RESERVE", never, item=item)
        task.transaction("BOOK", never, item=item)

    assert diverged(records["order"], order) == ("effect 1", 'RESERVE {"item":"Kaffee"}', 'PAY {"amount":4.5}')


def test_an_effect_that_is_not_on_record_is_the_divergence_even_if_the_handler_hides_it(records):
    def order(task, item, price):
        task.effect("RESERVE", never, item=item)
        try:
            task.effect("PAY", never, amount=price + 1)
        except BaseException:  # noqa: BLE001 — what a careless handler does
            return

    assert diverged(records["order"], order) == ("effect 2", 'PAY {"amount":4.5}', 'PAY {"amount":5.5}')


def test_an_effect_that_is_no_longer_asked_for_is_the_divergence(records):
    def order(task, item, price):
        task.effect("RESERVE", never, item=item)

    assert diverged(records["order"], order) == ("number of effects", "3", "1")


def test_a_delivery_that_is_not_made_again_is_the_divergence(records):
    def order(task, item, price):
        reserved = task.effect("RESERVE", never, item=item)
        paid = task.effect("PAY", never, amount=price)
        booked = task.transaction("BOOK", never, item=item)
        return {"reserved": reserved, "paid": paid, "booked": booked, "words": sorted({item, "a", "b", "c"})}

    what, _, found = diverged(records["order"], order)
    assert (what, found) == ("delivery of 'order Kaffee' to 'ada@example.org', version 1", "null")


def moving(app):
    return app.machine(
        "parcel", {"PLANNED": ["PACKED", "LOST"], "PACKED": "SENT", "SENT": "ARRIVED"}, initial="PLANNED"
    )


def test_a_move_that_is_not_on_record_is_the_divergence(records):
    def parcel(task, boxes):
        task.advance("PACKED")
        task.advance("LOST")

    assert diverged(records["parcel"], parcel, machine=moving) == ("move", None, "LOST")


def test_a_move_that_is_not_made_again_is_the_divergence(records):
    def parcel(task, boxes):
        if task.attempt == 1:
            raise Transient("no van")
        return task.effect("SEND", never)

    assert diverged(records["parcel"], parcel, machine=moving) == ("move", '{"from":"PACKED","to":"SENT"}', None)


def test_a_failure_where_there_was_none_is_the_divergence(records):
    def order(task, item, price):
        raise Permanent("no")

    assert diverged(records["order"], order) == ("status", "DONE", "ERROR PERMANENT")


def test_a_policy_that_draws_another_delay_is_the_divergence(records):
    app = Leasehold("sqlite:////nowhere/at/all.db")

    @app.job(retry=Retry(attempts=4, delay_initial=100, delay_max=600, delay_ceiling=600))
    def order(task, item, price):
        raise Transient

    found = app.journal.replay(records["order"])
    assert found.divergence is not None
    assert found.divergence.what == "delay of a retry, in microseconds"


def test_a_handler_that_is_not_registered_is_the_divergence(records):
    found = Leasehold("sqlite:////nowhere/at/all.db").journal.replay(records["order"])
    assert found.divergence is not None
    assert (found.divergence.what, found.divergence.expected) == ("handler", "order")


def test_a_handler_that_writes_past_its_effects_finds_no_database(records):
    app = Leasehold("sqlite:////nowhere/at/all.db")

    @app.job(retry=Retry(attempts=4, delay_initial=10, delay_max=60))
    def order(task, item, price):
        app.submit("order", {"item": "another", "price": 1})

    app.close()
    found = app.journal.replay(records["order"])
    assert found.divergence is not None
    assert found.divergence.what == "status"


def test_a_record_that_was_edited_is_not_replayed(records, tmp_path):
    path = tmp_path / "edited.ndjson"
    path.write_bytes(records["order"].read_bytes().replace(b'"amount":4.5', b'"amount":0.5'))
    with pytest.raises(RecordDamaged, match="Line 13"):
        replay(path, {})
