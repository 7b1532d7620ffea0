"""The tables: migrations, the rules that the database itself keeps, and the codes in which it refuses."""

import pytest

from leasehold import Leasehold
from leasehold.errors import UrlInvalid
from leasehold.pipelines.agents import errors
from leasehold.pipelines.agents.child_dispatch import Passed, Spawn, finish_child, spawn_child, start_child
from leasehold.pipelines.agents.records.records import migrations, open_records
from leasehold.pipelines.agents.requests import answer_once
from leasehold.pipelines.agents.sessions import SessionTerms, close_session, open_session, open_within
from leasehold.sqlfiles import steps
from tests.pipelines.agents.dispatch.coordinators import SESSION, TS, edit, lease, mixed_session, opened, run_all, spawn
from tests.support.db import connected, rows

AGENTS_TABLES = {"schema", "session", "stream", "event", "dispatch_token", "request"}


def table(url: str, name: str) -> str:
    return f"urm_{name}" if url.startswith("sqlite") else f"leasehold_agents.urm_{name}"


def change(records, url, statement):
    """Run a statement as any program with a connection could."""
    if not url.startswith("sqlite"):
        statement = statement.replace(" urm_", " leasehold_agents.urm_")
    records.write(lambda transaction: transaction.connection.execute(statement))


def test_the_tables_are_made_once_next_to_the_engines_and_found_again(url, records):
    assert records.migrate() == records.migrate() == len(migrations(records.backend.name))
    for name in AGENTS_TABLES:
        assert rows(url, f"SELECT count(*) FROM {table(url, name)}") is not None  # noqa: S608
    assert rows(url, "SELECT count(*) FROM task") == [(0,)]


def test_both_databases_have_the_same_migrations():
    assert migrations("sqlite") == migrations("postgres") != ()


def test_tables_of_a_newer_version_and_a_database_without_tables_are_refused(url, state):
    other = open_records(url)
    other.write(lambda transaction: transaction.run("schema/stamp", version=999))
    with pytest.raises(errors.RecordsMissing):
        other.migrate()
    other.close()
    with pytest.raises(UrlInvalid):
        open_records("mysql://localhost/a")


def test_without_its_tables_a_database_is_refused_with_a_code(empty_url):
    records = open_records(empty_url)
    with pytest.raises(errors.RecordsMissing) as refused:
        records.read(lambda transaction: transaction.run("session/coordinated"))
    assert refused.value.plain()["code"] == "URM_RECORDS_MISSING"
    records.close()


def test_a_spawn_commits_its_token_its_event_its_answer_and_the_engines_job_or_none_of_them(url, state):
    app = Leasehold(url)

    @app.job
    def child(task, name: str):
        return name

    def submit(transaction, token):
        with app.transaction(transaction.connection):
            app.submit(child, {"name": token.child_id}, key=token.child_id)

    def submit_and_fail(transaction, token):
        submit(transaction, token)
        raise KeyError(token.child_id)

    opened(state)
    with pytest.raises(KeyError):
        spawn_child(state, Spawn(SESSION, "r1", "a"), submit_and_fail)
    assert app.find("child", "a") is None
    spawn_child(state, Spawn(SESSION, "r1", "a"), submit)
    spawn_child(state, Spawn(SESSION, "r1", "a"), submit)
    job = app.find("child", "a")
    assert job is not None
    app.drain()
    assert app.get(job.id).output == "a"
    for name in ("dispatch_token", "event", "request"):
        assert rows(url, f"SELECT count(*) FROM {table(url, name)}") == [(1,)]  # noqa: S608
    app.close()


BACKWARDS = [
    (source, target)
    for source in ("queued", "leased", "started", "terminal")
    for target in ("queued", "leased", "started", "terminal")
    if (source, target)
    not in {
        ("queued", "leased"),
        ("leased", "started"),
        ("started", "terminal"),
        ("leased", "terminal"),
        ("queued", "terminal"),
        ("queued", "queued"),
        ("leased", "leased"),
        ("started", "started"),
    }
]
CHILD_IN = {"terminal": "a", "started": "b", "leased": "c", "queued": "d"}


@pytest.mark.parametrize(("source", "target"), BACKWARDS)
def test_the_database_rejects_every_change_of_phase_that_does_not_go_forward(url, records, state, source, target):
    mixed_session(state)
    with pytest.raises(errors.PhaseInvalid):
        change(
            records,
            url,
            f"UPDATE urm_dispatch_token SET phase = '{target}' WHERE child_id = '{CHILD_IN[source]}'",  # noqa: S608
        )


@pytest.mark.parametrize(
    "assignment",
    [
        "child_id = 'z'",
        "parent_session_id = 'z'",
        "parent_stream_id = 'z'",
        "parent_seq = 99",
        "queue_seq = 99",
        "dispatch_seq = 99",
        "dispatch_seq = NULL, worker_run_id = NULL",
        "worker_run_id = 'z'",
        "cancel_request_id = 'z'",
        "cancel_request_id = NULL",
    ],
)
def test_the_database_rejects_every_change_of_a_token_field_that_is_set(url, records, state, assignment):
    mixed_session(state)
    with pytest.raises((errors.TokenImmutable, errors.PhaseInvalid)):
        change(records, url, f"UPDATE urm_dispatch_token SET {assignment} WHERE child_id = 'c'")  # noqa: S608


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("UPDATE urm_event SET body = '{}'", errors.EventAppendOnly),
        ("DELETE FROM urm_event", errors.EventAppendOnly),
        ("DELETE FROM urm_dispatch_token", errors.TokenImmutable),
        ("UPDATE urm_request SET answer = '{}'", errors.EventAppendOnly),
        ("UPDATE urm_session SET queue_seq = 0", errors.ReplayOrderInvalid),
        ("UPDATE urm_session SET dispatch_seq = 0", errors.ReplayOrderInvalid),
        ("UPDATE urm_session SET contract = 'locked', max_active_children = 1", errors.ReplayOrderInvalid),
        ("UPDATE urm_session SET accounting_mode = 'reservation'", errors.AccountingModeInvalid),
        ("UPDATE urm_stream SET last_seq = 1", errors.ReplayOrderInvalid),
        ("DELETE FROM urm_stream", errors.ReplayOrderInvalid),
        ("DELETE FROM urm_session", errors.ReplayOrderInvalid),
    ],
)
def test_the_database_rejects_changes_of_what_was_written(url, records, state, statement, error):
    mixed_session(state)
    with pytest.raises(error) as refused:
        change(records, url, statement)
    assert refused.value.plain().keys() == {"code", "message", "context"}


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ("'z', 'demo', 's', 1, 1, NULL, NULL, 'queued'", errors.DispatchLeaseConflict),
        ("'a', 'demo', 's', 1, 99, NULL, NULL, 'queued'", errors.DispatchLeaseConflict),
        ("'z', 'demo', 's', 1, 99, 99, 'w', 'leased'", errors.PhaseInvalid),
    ],
)
def test_a_second_token_with_the_same_anchors_is_refused_with_the_documents_code(url, records, state, values, error):
    mixed_session(state)
    columns = "child_id, parent_session_id, parent_stream_id, parent_seq, queue_seq, dispatch_seq, worker_run_id, phase"
    with pytest.raises(error):
        change(records, url, f"INSERT INTO urm_dispatch_token ({columns}) VALUES ({values})")  # noqa: S608


@pytest.mark.parametrize(
    ("dispatch_seq", "worker_run_id", "error"),
    [(1, "'new'", errors.ReplayOrderInvalid), (99, "first_run", errors.DispatchLeaseConflict)],
)
def test_a_lease_with_a_taken_number_or_run_is_refused(url, records, state, dispatch_seq, worker_run_id, error):
    opened(state)
    spawn(state, "a", "b")
    run = f"'{lease(state).worker_run_id}'" if worker_run_id == "first_run" else worker_run_id
    if worker_run_id != "first_run":
        lease_first = lease(state)
        assert lease_first.dispatch_seq == 1
    statement = f"SET phase = 'leased', dispatch_seq = {dispatch_seq}, worker_run_id = {run} WHERE child_id = 'b'"
    with pytest.raises(error):
        change(records, url, f"UPDATE urm_dispatch_token {statement}")


def test_a_second_end_event_of_a_child_is_refused_by_the_database(url, records, state):
    mixed_session(state)
    columns = "stream_id, seq, parent_session_id, child_id, event, is_mirror, body"
    with pytest.raises(errors.PhaseEventMismatch):
        change(
            records,
            url,
            f"INSERT INTO urm_event ({columns}) VALUES ('child:a', 9, 'demo', 'a', 'WORKER_FAIL', 0, '{{}}')",  # noqa: S608
        )


@pytest.mark.parametrize(
    ("terms", "error"),
    [
        (SessionTerms("s", max_active_children=3), errors.ConcurrencyCapInvalid),
        (SessionTerms("s", max_active_children=0), errors.ConcurrencyCapInvalid),
        (SessionTerms("s", "open", 0), errors.ConcurrencyCapInvalid),
        (SessionTerms("s", max_active_children=True), errors.ConcurrencyCapInvalid),
        (SessionTerms("s", "loose"), errors.SessionInvalid),
        (SessionTerms("s", accounting_mode="reservation"), errors.AccountingModeInvalid),
        (SessionTerms("../s"), errors.SessionInvalid),
        (SessionTerms("a\n"), errors.SessionInvalid),
        (SessionTerms("a" * 129), errors.SessionInvalid),
    ],
)
def test_a_session_outside_the_contract_is_refused_and_not_made(url, state, terms, error):
    with pytest.raises(error):
        open_session(state, terms)
    assert rows(url, f"SELECT count(*) FROM {table(url, 'session')}") == [(0,)]  # noqa: S608


def test_an_open_session_may_have_any_cap_and_keeps_its_terms(state):
    assert open_session(state, SessionTerms("s", "open", 50)).max_active_children == 50
    with pytest.raises(errors.SessionInvalid):
        open_session(state, SessionTerms("s", "open", 51))


def test_s7_sequences_are_unique_and_continue_from_what_is_stored_after_a_restart(url, state):
    opened(state)
    spawn(state, "a", "b")
    first = run_all(state)
    close_session(state, SESSION)
    state.records.close()
    again = opened(state)
    spawn(again, "c", "d")
    done = [*first, *run_all(again)]
    assert [token.queue_seq for token in done] == [token.dispatch_seq for token in done] == [1, 2, 3, 4]
    assert len({token.worker_run_id for token in done}) == 4


def test_s7_a_counter_that_was_lost_continues_after_the_largest_stored_number(url, state):
    opened(state)
    spawn(state, "a", "b")
    run_all(state)
    edit(url, "UPDATE urm_session SET queue_seq = 0, dispatch_seq = 0")
    spawn(state, "c")
    (token,) = run_all(state)
    assert (token.queue_seq, token.dispatch_seq) == (3, 3)


def test_a_connection_that_was_killed_is_replaced_and_the_transaction_repeated(url, state):
    opened(state)
    if not url.startswith("sqlite"):
        with connected(url) as connection:
            ended = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchall()
        assert ended
    spawn(state, "a")
    assert finish_child(state, start_child(state, lease(state)), Passed()).phase == "terminal"


@pytest.mark.parametrize("name", ["token/count_active", "token/next_queued", "token/open"])
def test_a_lease_does_not_read_the_tokens_of_children_that_have_ended(tmp_path, name):
    """SQLite uses an index with a condition only for the same condition, so its plan is looked at."""
    records = open_records(f"sqlite:///{tmp_path}/a.db")
    records.migrate()
    (statement,) = steps("leasehold.pipelines.agents", f"records/sqlite/{name}")
    values = {"parent_session_id": SESSION, "rows_max": 1}
    plan = records.read(lambda reading: list(reading.connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)))
    assert "urm_dispatch_token_phase (parent_session_id=? AND phase=?)" in plan[0][3]
    records.close()


def test_a_session_and_the_answer_to_the_request_that_opened_it_are_one_transaction(url, state):
    def start(transaction):
        def act():
            return {"stream": open_within(transaction, state, SessionTerms("s")).parent_stream_id}

        return answer_once(transaction, "urm.copilot.start", "r", {"session": "s"}, TS, act)

    def start_and_fail(transaction):
        start(transaction)
        raise KeyError("s")

    with pytest.raises(KeyError):
        state.records.write(start_and_fail)
    assert rows(url, f"SELECT count(*) FROM {table(url, 'session')}") == [(0,)]  # noqa: S608
    assert state.records.write(start) == state.records.write(start) == {"stream": "copilot:s"}
    assert rows(url, f"SELECT count(*) FROM {table(url, 'request')}") == [(1,)]  # noqa: S608
