"""Plans: whatever the planner believes, a claim of one takes one, and no big table is read from end to end."""

import contextlib
import json

import apsw
import psycopg
import pytest
from psycopg import sql

from leasehold.model.lease import done
from leasehold.store import open_store
from leasehold.store.db import statements
from leasehold.store.db.documents import document
from leasehold.store.db.postgres import SETTINGS
from tests.store import work
from tests.store.work import claim, finish, lane, look, register, submit
from tests.support.databases.postgres import database_name

SWITCHES = (
    "indexscan", "indexonlyscan", "bitmapscan", "tidscan", "nestloop", "hashjoin", "mergejoin", "material", "sort",
    "incremental_sort", "memoize", "seqscan", "hashagg",
)  # fmt: skip
HOSTILE = [(), *[(name,) for name in SWITCHES], ("indexscan", "indexonlyscan", "bitmapscan", "tidscan"), SWITCHES]


@pytest.fixture(scope="module")
def hostile_url(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    yield url
    postgres.drop_database(url)


def set_for_all(url: str, names) -> None:
    """Set what every new connection to this database starts with."""
    database = sql.Identifier(database_name(url))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(database))
        for name in names:
            setting = sql.Identifier(f"enable_{name}")
            connection.execute(sql.SQL("ALTER DATABASE {} SET {} = off").format(database, setting))


@pytest.mark.parametrize("names", HOSTILE, ids=lambda names: "+".join(names)[:40] or "none")
@pytest.mark.parametrize("statistics", ["empty", "stale", "fresh"])
def test_a_claim_of_one_returns_one_under_hostile_planner_settings(hostile_url, names, statistics):
    set_for_all(hostile_url, names)
    with contextlib.closing(open_store(hostile_url)) as store:
        worker = register(store)
        if statistics == "empty":
            analyse(hostile_url)
        submit(store, *[f"{statistics}-{names}-{number}" for number in range(30)])
        if statistics == "fresh":
            analyse(hostile_url)
        before = look(store, "SELECT count(*) FROM ready")[0][0]
        for expected in range(1, 9):  # past the fifth the server keeps one plan for all
            leases = claim(store, worker, 1)
            assert len(leases) == 1
            assert len(finish(store, leases)) == 1
            assert look(store, "SELECT count(*) FROM ready") == [(before - expected,)]
        assert len(finish(store, claim(store, worker, 100))) == before - 8


def plan_of(connection, name: str, **values) -> str:
    connection.execute("SET plan_cache_mode = force_generic_plan")
    with connection.transaction(force_rollback=True):
        text = f"EXPLAIN (COSTS OFF) {statements.encoded('postgres', name).decode()}"
        return "\n".join(row[0] for row in connection.execute(text.encode(), values, prepare=True).fetchall())


def check_plans(url: str, worker: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SETTINGS)
        lanes = document([lane()])
        claimed = plan_of(
            connection, "leases/claim", worker=worker, lanes=lanes, routes='["a"]', most=300, limited=False
        )
        settled = plan_of(connection, "leases/settle", settlements="[]", conflict="")
        renewed = plan_of(connection, "leases/renew", renewals="[]")
        spent = plan_of(connection, "budgets/spend", spends="[]")
        linked = plan_of(connection, "links/hold", links="[]")
    for plan in (claimed, settled, renewed, spent, linked):
        assert "Seq Scan" not in plan
    assert "Index Scan using ready_order" in claimed
    assert 'AND ("position" > lane.after)' in claimed
    assert "Tid Scan on ready" in claimed
    assert claimed.count("Index Cond: (id = ") == 2
    assert "Index Cond: (task_id = ANY" in settled
    assert renewed.count("Index Cond: (task_id = ") == 2
    assert "Tid Scan on lease" in renewed


def analyse(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


def test_claim_and_settle_look_up_by_key_whatever_the_statistics(postgres, postgres_template):
    """A plan made while the tables are empty is kept when they are full: it must be good then, too."""
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store:
        worker = register(store)
        check_plans(url, worker)
        analyse(url)
        check_plans(url, worker)
        submit(store, *[str(number) for number in range(4000)])
        check_plans(url, worker)
        analyse(url)
        check_plans(url, worker)
        leases = [lease for _ in range(3) for lease in claim(store, worker, 1000)]
        analyse(url)
        check_plans(url, worker)
        store.leases.settle([done(lease, "1") for lease in leases])
        analyse(url)
        check_plans(url, worker)
    postgres.drop_database(url)


def test_a_job_in_a_full_database_reads_no_big_table_from_end_to_end(postgres, postgres_template):
    """Counted by the server itself: rows read by sequential scans while one pipeline runs from start to end."""
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store:
        worker = register(store)
        submit(store, *[str(number) for number in range(6000)])
        finish(store, [lease for _ in range(5) for lease in claim(store, worker, 1000)])
    analyse(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_reset()")
    with contextlib.closing(open_store(url)) as store:
        run_a_film(store)
    with psycopg.connect(url, autocommit=True) as connection:
        read = connection.execute("SELECT relname, seq_tup_read FROM pg_stat_user_tables WHERE seq_tup_read > 0")
        assert {name: rows for name, rows in read if rows > 1000} == {}
    postgres.drop_database(url)


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_claim_is_not_planned_again_for_another_number_of_tasks(store):
    """Planning takes longer than claiming, and SQLite asks whether it may read each table whenever it plans."""
    asked: list[tuple[object, ...]] = []

    def allow(*what: object) -> int:
        asked.append(what)
        return apsw.SQLITE_OK

    worker = register(store)
    submit(store, *[str(number) for number in range(30)])
    store.database.perform(lambda session: session.raw).authorizer = allow  # it forgets all plans
    assert len(claim(store, worker, 1)) == 1
    assert asked
    asked.clear()
    assert [len(claim(store, worker, most)) for most in (1, 2, 3, 2)] == [1, 2, 3, 2]
    assert not asked


def run_a_film(store) -> None:
    worker = register(store, 2)
    stages = (work.stage("one"), work.stage("two", "one", each="list"), work.stage("three", "two", "one"))
    film = work.pipeline(store, "film", *stages)
    for name in ("one", "two", "three"):
        leases = claim(store, worker, routes=work.routes_of(name))
        assert store.stages.inputs(leases[0].task_id) is not None
        finish(store, leases, {"list": [1, 2, 3]})
        work.advance(store)
    store.workers.pulse(work.question(worker))
    assert store.reports.job(film.id).status == "DONE"
    assert len(store.reports.tasks(film.id)) == 7
    assert len(store.reports.events(film.id)) > 7
    store.stages.outputs(film.id)
    store.tasks.cancel(film.id, work.REASON)
    submit(store, "film", payload={"again": True})
    store.stages.make_due()
    store.leases.reclaim(store.losses.expired())


BIG = ("task", "event", "outcome", "ready", "lease", "need", "waiting", "budget", "spend", "link")
LOOK_UPS = (
    "leases/claim", "leases/settle", "leases/renew", "leases/reclaim",
    "tasks/submit", "tasks/spawn", "tasks/cancel", "tasks/cancellable",
    "stages/conclude", "stages/dependents", "reports/events", "losses/expired",
    "tasks/find_by_key", "stages/fan_out_sources", "stages/inputs", "stages/inputs_size",
    "reports/job", "stages/make_due", "stages/make_ready", "stages/outputs",
    "leases/progress", "leases/settled", "stages/count_part_outcomes", "reports/tasks",
    "reports/task_counts", "reports/jobs_by_key", "machines/list_in_state",
    "budgets/spend", "budgets/of_job", "links/hold", "links/children", "links/tree",
    "records/spends", "records/links", "records/budgets", "retention/find_prunable",
)  # fmt: skip


def test_keys_are_found_by_their_start_in_an_index_of_postgresql(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store:
        submit(store, *[f"{letter}{number}" for letter in "abcdefghij" for number in range(400)])
    analyse(url)
    bounds = {"kind": "a", "low": "b1", "high": "b2", "most": 50}
    with psycopg.connect(url, autocommit=True) as connection:
        listed = plan_of(connection, "reports/jobs_by_key", **bounds, status=None, queue=None, before=None)
        moved = plan_of(connection, "machines/list_in_state", **bounds, after="b12")
    for plan in (listed, moved):
        (condition,) = [line for line in plan.splitlines() if "Index Cond" in line and "key ~>=~" in line]
        assert "kind = " in condition
        assert "key ~<~ " in condition
        assert "task_key" in plan
    postgres.drop_database(url)


def test_keys_are_found_by_their_start_in_an_index_of_sqlite(tmp_path):
    for name in ("reports/jobs_by_key", "machines/list_in_state"):
        assert any("task_key (kind=? AND key>? AND key<?)" in line for line in sqlite_plan(tmp_path, name))


@pytest.mark.parametrize("name", LOOK_UPS)
def test_no_operation_on_sqlite_scans_a_big_table(tmp_path, name):
    details = sqlite_plan(tmp_path, name)
    assert details
    scans = [line for line in details if line.startswith("SCAN ") and line.split()[1] in BIG and "USING" not in line]
    assert scans == []


def sqlite_plan(folder, name: str) -> list[str]:
    def explain(session):
        values = {"lanes": json.dumps([]), "limited": False}
        return [
            row[3]
            for step in statements.steps("sqlite", name)
            for row in session._connection.execute(f"EXPLAIN QUERY PLAN {step}", Missing(values)).fetchall()  # noqa: SLF001
        ]

    with contextlib.closing(open_store(f"sqlite:///{folder}/plans.db")) as store:
        store.migrate()
        return store.database.transact(explain)


class Missing(dict):
    """Bindings for a plan: what is not given is null."""

    def __missing__(self, key):
        return None
