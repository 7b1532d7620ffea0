"""The oracle finds what is wrong: a sound world, broken in one place at a time, for every promise it knows."""

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

from leasehold import BudgetExceeded, Permanent, Retry
from tests.conftest import sqlite_url
from tests.support.apps.chaos import NARROW, make_app, work_of
from tests.support.db import connected, rows
from tests.support.oracle import evidence, leases, oracle, outcomes, outside, record, states, triggers
from tests.support.oracle.evidence import Evidence
from tests.support.oracle.oracle import CHECKS, judge
from tests.support.oracle.triggers import install_audit_triggers

# What each case does to the tables, or to what the witness saw, and which promise that breaks.
TABLES = {
    "S1": [
        "UPDATE event SET fence = 2 WHERE name = 'claimed' AND task_id = {plain}",
        "UPDATE outcome SET fence = fence + 1 WHERE task_id = {plain}",
        """INSERT INTO event (task_id, at, name, fence, attempt, worker, mark)
           SELECT task_id, at, name, 2, 2, worker, mark FROM event WHERE task_id = {plain} AND name = 'claimed'""",
    ],
    "S2": [
        "UPDATE event SET fence = 7 WHERE name = 'done' AND task_id = {plain}",
        "UPDATE outcome SET output = '\"forged\"' WHERE task_id = {plain}",
        "UPDATE lab_seen SET expires_at = 1 WHERE what = 'lease ended' AND task = {plain}",
        "UPDATE lab_seen SET expires_at = 1 WHERE what = 'recorded'",
        "UPDATE lab_seen SET fence = NULL, expires_at = NULL WHERE what = 'recorded'",
    ],
    "S3": [
        "DELETE FROM outcome WHERE task_id = {plain}",
        "DELETE FROM task WHERE id = {plain}",
        "UPDATE task SET key = 'another' WHERE id = {plain}",
        """INSERT INTO ready (task_id, queue, priority, route, attempt, fence, epoch, mark)
           SELECT task_id, 'default', 0, 'plain', 1, 1, 1, mark FROM outcome WHERE task_id = {plain}""",
    ],
    "S4": [
        "UPDATE effect SET result = '{{\"receipt\":\"forged\"}}' WHERE kind = 'ONE'",
        "UPDATE effect SET result = NULL, recorded_at = NULL WHERE kind = 'ONE'",
    ],
    "S5": [
        'UPDATE outcome SET failure = \'{{"error_class":"X","message":"edited"}}\' WHERE status = \'CANCELLED\'',
        "UPDATE outcome SET status = 'ERROR' WHERE status = 'CANCELLED'",
        "UPDATE task SET payload = '{{\"number\":77}}' WHERE id = {plain}",
        """INSERT INTO event (task_id, at, name, fence, attempt, worker, mark) SELECT task_id, at, 'retried', fence,
           attempt, worker, mark FROM event WHERE task_id = {plain} AND name = 'done'""",
    ],
    "S6": [
        "DELETE FROM event WHERE task_id = {plain} AND name = 'done'",
        "DELETE FROM event WHERE task_id = {plain}",
        "UPDATE event SET at = at - 60000000 WHERE name = 'advanced' AND task_id = {flaky}",
    ],
    "S7": [
        "UPDATE task SET segment = 9 WHERE segment = 2",
        "DELETE FROM task WHERE segment = 2",
        "UPDATE task SET item = '77' WHERE segment = 1",
    ],
    "S8": [
        "UPDATE task SET payload = '{{\"number\":77}}' WHERE id = {plain}",
        "UPDATE task SET attempts_max = 3 WHERE id = {plain}",
        "UPDATE event SET detail = '{{\"x\":1}}' WHERE name = 'claimed' AND task_id = {plain}",
        "UPDATE event SET at = at + 1 WHERE name = 'submitted' AND task_id = {plain}",
        "UPDATE outcome SET output = '\"forged\"' WHERE task_id = {plain}",
    ],
    "S9": [
        "UPDATE budget SET spent = spent - 1 WHERE job_id = {family}",
        "UPDATE budget SET most = most + 1 WHERE job_id = {family}",
        "DELETE FROM budget WHERE job_id = {family}",
        "DELETE FROM spend WHERE job_id = {family}",
        "DELETE FROM event WHERE name = 'spent' AND task_id = {family}",
        "UPDATE event SET name = 'refused' WHERE name = 'spent' AND task_id = {family}",
        "UPDATE lab_seen SET expires_at = 1 WHERE what = 'debited'",
        "UPDATE lab_seen SET fence = 9 WHERE what = 'debited'",
    ],
    "S10": [
        "UPDATE event SET name = 'done' WHERE name = 'cancelled' AND fence IS NOT NULL",
        "DELETE FROM event WHERE name = 'asked'",
        'UPDATE event SET detail = \'{{"error_class":"CANCELLED","message":"x"}}\' WHERE name = \'asked\'',
        "UPDATE outcome SET failure = NULL WHERE status = 'CANCELLED'",
    ],
    "S11": ["UPDATE task SET queue = 'narrow' WHERE id IN (SELECT task_id FROM event WHERE name = 'claimed')"],
    "S12": [
        "UPDATE event SET attempt = 9 WHERE name = 'claimed' AND task_id = {plain}",
        "UPDATE task SET attempts_max = 2 WHERE id = {flaky}",
        """UPDATE event SET name = 'reclaimed', detail = '{{"status":"ERROR","why":"expired"}}'
           WHERE name = 'done' AND task_id = {plain}""",
        """UPDATE event SET name = 'reclaimed', detail = '{{"began":false,"status":"READY","why":"owner gone"}}'
           WHERE name = 'retried' AND task_id = {flaky}""",
    ],
    "S13": [
        "DELETE FROM dead_letter",
        "UPDATE dead_letter SET state = 'open'",
        "DELETE FROM event WHERE name = 'revived'",
        "UPDATE event SET name = 'done' WHERE name = 'failed'",
    ],
    "S14": [
        """UPDATE delivery SET notification_id = (SELECT max(notification_id) FROM delivery)
           WHERE id = (SELECT min(id) FROM delivery)""",
        "UPDATE delivery SET task_id = {cancelled}",
        "UPDATE lab_seen SET fence = 9 WHERE what = 'marked'",
        "DELETE FROM lab_seen WHERE what = 'begun'",
        "DELETE FROM delivery",
    ],
    "moves": [
        "UPDATE state SET name = 'good' WHERE job_id = {moving}",
        "DELETE FROM state WHERE job_id = {moving}",
        "DELETE FROM event WHERE name = 'moved' AND detail LIKE '%\"to\":\"seen\"%'",
        """UPDATE event SET detail = '{{"from":"seen","to":"new"}}' WHERE name = 'moved' AND detail LIKE '%weak%'""",
    ],
    "links": [
        "DELETE FROM link",
        "DELETE FROM event WHERE name = 'linked'",
        "UPDATE link SET root_id = 0",
        "UPDATE event SET name = 'asked' WHERE name = 'spent' AND task_id = {family}",
    ],
    "wholes": [
        "UPDATE outcome SET status = 'ERROR' WHERE task_id = (SELECT min(id) FROM task WHERE segment = 1)",
        "DELETE FROM outcome WHERE task_id = (SELECT min(id) FROM task WHERE segment = 1)",
    ],
    "L1": [
        "INSERT INTO unsettled (task_id) VALUES ({plain})",
        "UPDATE delivery SET status = 'pending'",
        """UPDATE event SET name = 'reclaimed', detail = '{{"status":"READY","why":"expired"}}'
           WHERE name = 'retried' AND task_id = {flaky};
           UPDATE lab_seen SET expires_at = expires_at - 900000000 WHERE what = 'lease ended' AND task = {flaky}""",
        "UPDATE event SET at = at - 900000000 WHERE name = 'advanced' AND task_id = {flaky}",
    ],
}
WITNESS = {
    "S1": lambda lines: [*lines, next(line for line in lines if line[0] == "began")],
    "S2": lambda lines: [line for line in lines if line[0] != "returned"],
    "S3": lambda lines: [*lines, ("acked", 10**6, "plain", "plain-x")],
    "S4": lambda lines: [*lines, *(line for line in lines if line[0] == "acted" and line[5])],
    "S9": lambda lines: [*lines, *(line for line in lines if line[0] == "paid")],
    "links": lambda lines: [*lines, *(("reached", line[1], n) for n in range(100) for line in lines[:1])],
    "S10": lambda lines: [*lines, *(("called off", line[1], 1) for line in lines if line[:1] == ("acked",))],
    "S14": lambda lines: [*lines, *(line for line in lines if line[0] == "sent" and line[3])],
}


def add_kinds(app, outside):
    """Kinds that a storm does not have: buried and revived, called off while it runs, with states, and a tree."""
    mended: list[bool] = []

    @app.job(retry=Retry(attempts=1))
    @outside
    def doomed(task, number):
        if not mended:
            raise Permanent("no stamps")
        return number

    @app.job(retry=Retry(attempts=1))
    @outside
    def stopped(task, number):
        app.cancel(task.lease.job_id, reason="enough")
        return number

    steps = {"new": "made", "made": "seen", "seen": ["weak", "good"], "weak": "made"}

    @app.job(machine=app.machine("steps", steps, initial="new"))
    @outside
    def moving(task, number):
        for state in ("made", "seen", "weak", "made", "seen"):
            task.advance(state)
        return number

    @app.job
    @outside
    def heir(task, number):
        return number

    @app.job
    @outside
    def family(task, number):
        left = task.spend("tokens", 7)
        app.deliveries.providers["folder"].provider.journal.saw(
            "paid", task.lease.task_id, task.lease.fence, "tokens", 7, left
        )
        task.submit(heir, {"number": number}, key="first")
        with contextlib.suppress(BudgetExceeded):
            task.spend("tokens", 50)
        return number

    return doomed, stopped, moving, family, mended


def live(url, folder):
    """Let a small world live to its end; return what its witness saw, and some of its tasks by name."""
    app = make_app(url, folder)
    outside: Any = app.deliveries.providers["folder"].provider
    journal = outside.journal
    doomed, stopped, moving, family, mended = add_kinds(app, outside.watched)
    app.migrate()
    with connected(url) as connection:
        install_audit_triggers(connection, "sqlite" if url.startswith("sqlite") else "postgres")
    app.queues.limit("narrow", NARROW)
    named = {}
    for number in range(20):
        kind, payload, key = work_of(number)
        job = app.submit(kind, payload, key=key)
        journal.saw("acked", job.id, kind, key)
        named[kind] = job.id
    app.drain(timeout=120)
    for kind in (doomed, stopped, moving, family):
        job = kind.submit({"number": 1}, key="1", budget={"tokens": 20} if kind is family else None)
        journal.saw("acked", job.id, kind.name, "1")
        named[kind.name] = job.id
    app.drain(timeout=120)
    mended.append(True)
    (letter,) = app.deadletters.list()
    app.deadletters.evidence(letter.id, "bought stamps")
    app.deadletters.revive(letter.id)
    journal.saw("revived", letter.id)
    app.drain(timeout=120)
    app.close()
    return journal.lines, {**named, "cancelled": named["stopped"]}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def world(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    made = request.getfixturevalue
    fresh = {"sqlite": lambda: sqlite_url(folder), "postgres": lambda: made("postgres").create_database()}
    url = fresh[request.param]()
    lines, named = live(url, folder)
    return url, lines, named


@contextlib.contextmanager
def broken(url, statement):
    """Look at the tables as they are after a statement, which is then undone."""
    with connected(url) as connection:
        connection.execute("BEGIN")
        connection.execute(statement)
        yield lambda query: list(connection.execute(query))
        connection.execute("ROLLBACK")


def verdict(look, lines):
    return judge(Evidence(look, lines, {"narrow": NARROW}, has_audit_triggers=True, calm_at=1))


def test_a_sound_world_is_found_sound(world):
    url, lines, _ = world
    assert verdict(lambda query: rows(url, query), lines) == []


@pytest.mark.parametrize(
    ("promise", "statement"), [(promise, statement) for promise, many in TABLES.items() for statement in many]
)
def test_a_broken_table_breaks_its_promise(world, promise, statement):
    url, lines, named = world
    with broken(url, statement.format(**named)) as look:
        found = verdict(look, lines)
    assert promise in {finding.partition(":")[0] for finding in found}, found


@pytest.mark.parametrize("promise", WITNESS)
def test_what_the_witness_saw_and_the_tables_do_not_hold_breaks_its_promise(world, promise):
    url, lines, _ = world
    found = verdict(lambda query: rows(url, query), WITNESS[promise](lines))
    assert promise in {finding.partition(":")[0] for finding in found}, found


def test_every_promise_is_broken_above():
    assert set(TABLES) == set(CHECKS)
    assert set(CHECKS) == {*(f"S{number}" for number in range(1, 15)), "wholes", "moves", "links", "L1"}


def test_an_output_that_is_not_the_expected_one_breaks_s2(world):
    url, lines, _ = world
    found = judge(Evidence(lambda query: rows(url, query), lines, expected=lambda *_: "something else"))
    assert any(finding.startswith("S2:") for finding in found)


def test_the_oracle_uses_nothing_of_the_engine():
    for module in (evidence, triggers, outcomes, leases, outside, states, oracle, record):
        assert not re.search(r"(?m)^(from|import) leasehold", Path(module.__file__ or "").read_text(encoding="utf-8"))
