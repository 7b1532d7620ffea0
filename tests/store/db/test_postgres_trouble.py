"""Trouble on PostgreSQL: killed connections, restarts, deadlocks, failover. Nothing is lost, nothing is done twice."""

import contextlib
import subprocess
import sys
import threading

import psycopg
import pytest
from psycopg import sql

from leasehold.errors import DatabaseUnavailable, Misuse, ResultRefused
from leasehold.model.failure.loss import Reclaim
from leasehold.model.lease import Settlement
from leasehold.store import open_store
from leasehold.store.db.database import ErrorKind
from tests.store.model.invariants import check_everything
from tests.store.work import at_once, claim, connect, ending, finish, job, look, register, submit, take_time
from tests.support.databases.postgres import database_name
from tests.support.wait import until


@pytest.fixture
def url(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    yield url
    postgres.drop_database(url)


def kill_connections(url: str) -> int:
    """End every connection of the engine to this database, as an operator or a failover would."""
    with psycopg.connect(url, autocommit=True) as connection:
        killed = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND application_name = 'leasehold'"
        ).fetchall()
    return len(killed)


def test_connections_killed_between_operations_are_replaced(store, url):
    worker = register(store)
    submit(store, "k")
    assert kill_connections(url) == 1
    leases = claim(store, worker)
    assert kill_connections(url) == 1
    assert len(finish(store, leases)) == 1
    kill_connections(url)
    assert store.reports.health().ready == 0


def test_connections_killed_during_operations_lose_nothing(store, url):
    """S3 and S5: eight hundred jobs submitted and settled while their connections are killed again and again."""
    worker = register(store)

    def act(number):
        if number == 4:
            while not over.wait(0.02):
                kill_connections(url)
            return
        for turn in range(10):
            submit(store, *[f"{number}-{turn}-{one}" for one in range(20)])
            finish(store, claim(store, worker, 20))
        finished.append(number)
        if len(finished) == 4:
            over.set()

    finished: list[int] = []
    with ending() as over:
        at_once(5, act)
    unknown = [
        Reclaim(task, fence, "released") for task, fence in store.leases.held_by(worker)
    ]  # of claims without an answer
    store.leases.reclaim(unknown)
    while leases := claim(store, worker):
        finish(store, leases)
    assert look(store, "SELECT count(*) FROM outcome WHERE status = 'DONE'") == [(800,)]
    check_everything(store)


def test_a_server_stopped_at_once_and_started_again_under_load_loses_nothing(private_postgres):
    """S3, S5 and L2: four threads go on by themselves when the server is back."""
    server = private_postgres()
    url = server.create_database()
    with contextlib.closing(open_store(url)) as store:
        store.migrate()
        workers = [register(store, number) for number in range(4)]
        acknowledged: list[str] = []

        def act(number):
            turn = 0
            while not over.is_set():
                keys = [f"{number}-{turn}-{one}" for one in range(5)]
                submit(store, *keys)
                acknowledged.extend(keys)
                finish(store, claim(store, workers[number], 5))
                turn += 1

        def restart():
            for _ in range(2):
                until_more(acknowledged)
                server.restart("immediate")
            until_more(acknowledged)
            over.set()

        with ending() as over:
            at_once(5, lambda number: restart() if number == 4 else act(number))
        assert len(acknowledged) > 300
        stored = {row[0] for row in look(store, "SELECT key FROM task")}
        assert stored == set(acknowledged)
        check_everything(store)


def until_more(acknowledged: list[str]) -> None:
    enough = len(acknowledged) + 100
    until(lambda: len(acknowledged) > enough)


def test_a_deadlock_is_resolved_and_both_sides_succeed(store, url):
    submit(store, "a", "b")
    first, second = [row[0] for row in look(store, "SELECT id FROM task ORDER BY id")]
    start, won = threading.Barrier(2), threading.Event()
    tries = []

    def act(number):
        mine, other = (first, second) if number else (second, first)

        def work(session):
            take_time(session)
            tries.append(number)
            if len(tries) > 2:
                won.wait()  # else the loser may have its row again before the other gets it, and lose once more
            lock(session, mine)
            if not won.is_set():
                start.wait()
            lock(session, other)

        store.database.transact(work)
        won.set()

    at_once(2, act)
    assert len(tries) == 3


def lock(session, task: int) -> None:
    session._connection.execute("SELECT 1 FROM leasehold.ready WHERE task_id = %s FOR UPDATE", [task])  # noqa: SLF001


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_stricter_isolation_makes_more_tries_but_the_same_result(postgres, url, level):
    alter(postgres, url, sql.SQL("SET default_transaction_isolation = {}").format(sql.Literal(level)))
    with contextlib.closing(open_store(url)) as store:
        worker = register(store)
        at_once(6, lambda _: store.tasks.submit([job(str(number)) for number in range(40)]))
        at_once(4, lambda _: finish(store, claim(store, worker, 20)))
        while leases := claim(store, worker):
            finish(store, leases)
        assert look(store, "SELECT count(*) FROM outcome") == [(40,)]
        check_everything(store)


def alter(postgres, url: str, what) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} {}").format(sql.Identifier(database_name(url)), what))


def test_a_read_only_server_is_waited_for(postgres, url):
    """As after a failover: the old primary answers, but writes nothing until the names have moved on."""
    with contextlib.closing(open_store(url)) as store:
        submit(store, "before")
        alter(postgres, url, sql.SQL("SET default_transaction_read_only = on"))
        kill_connections(url)
        writing = threading.Thread(target=submit, args=(store, "k"))
        writing.start()
        writing.join(0.3)
        assert writing.is_alive()
        alter(postgres, url, sql.SQL("RESET default_transaction_read_only"))
        writing.join()
        assert store.reports.health().ready == 2


def test_a_server_that_is_not_there_is_unavailable(postgres, tmp_path):
    store = open_store(f"postgresql://postgres@/x?host={tmp_path}", retry_seconds=0.2)
    with contextlib.closing(store), pytest.raises(DatabaseUnavailable, match="check its URL") as refused:
        store.prepare()
    assert refused.value.code == "DATABASE_UNAVAILABLE"


def test_a_database_that_is_not_there_is_unavailable(postgres):
    store = open_store(postgres.url("missing"), retry_seconds=0.2)
    with contextlib.closing(store), pytest.raises(DatabaseUnavailable, match="missing"):
        store.prepare()


def test_closing_a_store_ends_the_wait_for_its_database(private_postgres):
    server = private_postgres()
    url = server.create_database()
    store = open_store(url)
    store.migrate()
    server.stop("immediate")
    refused: list[BaseException] = []

    def act():
        try:
            submit(store, "k")
        except DatabaseUnavailable as error:
            refused.append(error)

    waiting = threading.Thread(target=act)
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    store.close()
    waiting.join()
    assert len(refused) == 1


def test_a_value_the_database_refuses_is_an_error_of_our_own(store):
    worker = register(store)
    submit(store, "k")
    (lease,) = claim(store, worker)
    with pytest.raises(ResultRefused):
        store.leases.settle([Settlement(lease.task_id, lease.fence, "DONE", output="a\0b")])
    assert len(finish(store, [lease])) == 1


@pytest.mark.parametrize(
    ("state", "trouble"),
    [
        ("40001", ErrorKind.RETRY),
        ("40P01", ErrorKind.RETRY),
        ("55P03", ErrorKind.RETRY),
        ("53300", ErrorKind.RETRY),
        ("25006", ErrorKind.RECONNECT),
        ("25P03", ErrorKind.RECONNECT),
        ("57P01", ErrorKind.RECONNECT),
        ("57P03", ErrorKind.RECONNECT),
        ("08006", ErrorKind.RECONNECT),
        ("23505", ErrorKind.FINAL),
        ("42P01", ErrorKind.FINAL),
    ],
)
def test_every_kind_of_trouble_is_judged_by_its_state(store, state, trouble):
    with connect(store) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(f"DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '{state}'; END $$")
    assert store.database.dialect.classify(raised.value) is trouble
    assert store.database.dialect.classify(ValueError()) is None


def test_more_threads_than_connections_take_turns(url):
    with contextlib.closing(open_store(url, connections=2)) as store:
        at_once(24, lambda number: submit(store, str(number)))
        assert store.reports.health().ready == 24
        used = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        assert look(store, f"{used} AND application_name = 'leasehold'") == [(2,)]


def test_a_connection_in_pipeline_mode_is_refused_by_name(store, url):
    with (
        psycopg.connect(url) as connection,
        connection.pipeline(),
        pytest.raises(Misuse, match="pipeline mode"),
        store.transaction(connection),
    ):
        submit(store, "k")


def test_a_large_answer_is_not_kept_once_it_was_read(store):
    def work(session):
        rows = session.run("tasks/reserve_ids", count=5_000)
        return len(rows), session._cursor.pgresult  # noqa: SLF001

    assert store.database.transact(work) == (5_000, None)


SPENT = """
import os, resource, sys
from leasehold.store.db.postgres_wake import PostgresListener, PostgresNotifier
from leasehold.store.db.wake import Profile
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
listener, notifier = PostgresListener(sys.argv[1], Profile()), PostgresNotifier(sys.argv[1])
listener.wait(60)
spent = []
while True:
    try:
        spent.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        break
os.close(spent.pop())  # enough for a socket, too little to wait for it
notifier.send(["lost"])
other = PostgresListener(sys.argv[1], Profile())
assert other.wait(0.1) == set()
for descriptor in spent:
    os.close(descriptor)
notifier.send(["heard"])
hints = set()
while not hints:
    hints = listener.wait(60)
print(*hints, *other.wait(60))
"""


def test_l2_listener_and_notifier_outlive_a_moment_without_a_free_descriptor(url):
    ran = subprocess.run([sys.executable, "-c", SPENT, url], capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["heard", "ATTENTION"], ran.stderr
