"""Effects in the engine's own database, and crashes on purpose: what users' tests may rely on."""

import pytest

from leasehold import Leasehold, Transient
from leasehold.errors import Misuse
from leasehold.testing import Crash, crash_at, crash_matrix
from tests.runtime.effects.test_effects import AT_ONCE, ended
from tests.support.processes import fork_app


def test_users_rows_and_the_result_commit_together_exactly_once(app, url):
    @app.job(retry=AT_ONCE)
    def credit(task, amount: int):
        def act(connection):
            connection.execute("CREATE TABLE IF NOT EXISTS money (amount integer)")
            connection.execute("INSERT INTO money VALUES (5)")
            return {"credited": amount}

        found = task.transaction("CREDIT", act, amount=amount)
        if task.attempt == 1:
            raise Transient
        return [found, task.attempt]

    job = credit.submit({"amount": 5})
    assert ended(app, job).output == [{"credited": 5}, 2]

    @app.job
    def count(task):
        return task.transaction(
            "COUNT", lambda connection: connection.execute("SELECT count(*) FROM money").fetchall()[0][0]
        )

    assert ended(app, count.submit()).output == 1


def test_an_async_handler_awaits_its_transactions(app):
    @app.job
    async def read(task):
        return await task.transaction("READ", lambda connection: connection.execute("SELECT 41 + 1").fetchall()[0][0])

    assert ended(app, read.submit()).output == 42


def test_a_users_own_database_error_reaches_the_handler_in_its_own_words(app):
    modules = []

    @app.job
    def read(task):
        try:
            task.transaction("READ", lambda connection: connection.execute("SELECT * FROM nowhere"))
        except Exception as error:
            modules.append(type(error).__module__.split(".")[0])
            raise

    assert ended(app, read.submit()).status == "ERROR"
    assert modules[0] in ("apsw", "psycopg")


def test_a_submit_inside_a_transaction_commits_or_vanishes_with_it(app):
    @app.job
    def child(number: int):
        return number

    @app.job(retry=AT_ONCE)
    def parent(task):
        def act(connection):
            app.submit(child, {"number": task.attempt}, key=f"child-{task.attempt}")
            if task.attempt == 1:
                raise Transient
            return "submitted"

        return task.transaction("SUBMIT", act)

    assert ended(app, parent.submit()).output == "submitted"
    assert [job.key for job in app.jobs(kind="child")] == ["child-2"]


def test_an_act_that_commits_by_itself_is_found_out_and_not_run_again(app):
    acts = []

    @app.job(retry=AT_ONCE)
    def rude(task):
        def act(connection):
            acts.append(1)
            connection.execute("COMMIT")

        return task.transaction("RUDE", act)

    job = ended(app, rude.submit())
    assert job.status == "ERROR"
    assert acts == [1]


def test_an_act_that_closes_its_connection_gets_an_error_and_is_not_run_again(app):
    acts = []

    @app.job(retry=AT_ONCE)
    def rude(task):
        def act(connection):
            acts.append(1)
            connection.close()

        return task.transaction("RUDE", act)

    assert ended(app, rude.submit()).failure["error_class"] == "MISUSE"
    assert acts == [1]


def test_an_effect_inside_a_transaction_is_refused_at_once(app):
    @app.job
    def nested(task):
        return task.transaction("OUTER", lambda connection: task.effect("INNER", lambda: 1))

    assert ended(app, nested.submit()).failure["error_class"] == "MISUSE"


def test_crash_at_ends_the_attempt_as_a_kill_would(app):
    caught = []

    @app.job(retry=AT_ONCE)
    def buy(task):
        try:
            return task.effect("BUY", lambda: 1, idempotent=True)
        except Exception as error:  # noqa: BLE001
            caught.append(error)

    job = buy.submit()
    with crash_at(app, "before_intent", kind="BUY"):
        assert ended(app, job).output == 1
    assert caught == []
    assert issubclass(Crash, BaseException)
    assert not issubclass(Crash, Exception)


def test_the_crash_matrix_accepts_a_careful_job_and_names_the_point_where_a_careless_one_differs(tmp_path):
    world: dict[str, int] = {}
    numbers = iter(range(1_000))

    def make(**care):
        def register():
            world.clear()
            app = Leasehold(f"sqlite:///{tmp_path}/matrix-{next(numbers)}.db")

            @app.job(retry=AT_ONCE)
            def two(task):
                def act(key):
                    world[key] = world.get(key, 0) + 1
                    return len(key)

                return [task.effect(kind, act, **care) for kind in ("A", "B")]

            return app

        return register

    matrix = crash_matrix(
        make(lookup=lambda key: 64 if key in world else None),
        lambda app: app.submit("two"),
        lambda: sum(world.values()),
    )
    assert len(matrix.runs) == 1 + 2 * 4
    with pytest.raises(AssertionError, match=r"crash after act of B \(the 2\. effect\): ERROR"):
        crash_matrix(make(), lambda app: app.submit("two"), lambda: sum(world.values()))
    with pytest.raises(AssertionError, match="give the effect a lookup or idempotent=True"):
        crash_matrix(make(), lambda app: app.submit("two"), lambda: sum(world.values()))
    with pytest.raises(AssertionError, match="its act ran again; give the effect a lookup, or count each key once"):
        crash_matrix(make(idempotent=True), lambda app: app.submit("two"), lambda: sum(world.values()))
    assert crash_matrix(make(idempotent=True), lambda app: app.submit("two"), lambda: len(world)).runs


class Workbench:
    """Makes fresh apps for a crash matrix, all with the same job."""

    def __init__(self, folder, register):
        self._folder = folder
        self._register = register
        self.made = 0

    def __call__(self):
        self.made += 1
        app = Leasehold(f"sqlite:///{self._folder}/bench-{self.made}.db")
        self._register(app, self.made)
        return app


def matrix_of(folder, register, kind="work"):
    return crash_matrix(Workbench(folder, register), lambda app: app.submit(kind, key="one"), lambda: 0)


def test_the_crash_matrix_plans_only_the_points_that_an_effect_passes(tmp_path):
    """A transaction has no intent of its own, and the effect after it is crashed at each of its four points."""

    def register(app, _):
        @app.job(retry=AT_ONCE)
        def work(task):
            first = task.transaction("BOOK", lambda connection: connection.execute("SELECT 1").fetchall()[0][0])
            return [first, task.effect("BUY", lambda: 2, idempotent=True)]

    matrix = matrix_of(tmp_path, register)
    assert [(run.point, run.kind, run.nth) for run in matrix.runs] == [
        ("", "", 0),
        ("before_intent", "BOOK", 1),
        ("after_result", "BOOK", 1),
        ("before_intent", "BUY", 2),
        ("after_intent", "BUY", 2),
        ("after_act", "BUY", 2),
        ("after_result", "BUY", 2),
    ]


def test_the_crash_matrix_refuses_a_job_that_passes_no_point(tmp_path):
    def register(app, _):
        @app.job
        def work():
            return 1

    with pytest.raises(AssertionError, match="Nothing was crashed"):
        matrix_of(tmp_path, register)


def test_the_crash_matrix_refuses_a_crash_that_did_not_happen(tmp_path):
    def register(app, made):
        @app.job
        def work(task):
            return task.effect("BUY", lambda: 1, idempotent=True) if made == 1 else 1

    with pytest.raises(AssertionError, match=r"crash before intent of BUY \(the 1\. effect\) did not happen"):
        matrix_of(tmp_path, register)


def test_the_crash_matrix_refuses_an_isolated_job_and_names_what_to_do(tmp_path):
    def register(app, _):
        app.job(fork_app.crowd.handler.function, name="work", isolated=True)

    with pytest.raises(Misuse, match=r"'work' is isolated.*register the same function without isolated=True"):
        crash_matrix(Workbench(tmp_path, register), lambda app: app.submit("work", {"number": 2}), lambda: 0)


def test_a_failing_lookup_is_a_failed_attempt_and_the_effect_stays_in_doubt(app):
    acts, looks = [], []

    def lookup():
        looks.append(1)
        if len(looks) == 1:
            raise Transient
        return "found"

    @app.job(retry=AT_ONCE)
    def buy(task):
        return task.effect("BUY", lambda: acts.append(1), lookup=lookup)

    job = buy.submit()
    with crash_at(app, "after_act"):
        ended(app, job)
    assert (job.output, acts, looks) == ("found", [1], [1, 1])


@pytest.fixture
def fresh_url(dialect, request, tmp_path):
    """Makes databases, each with the schema and nothing in it."""
    made: list[str] = []
    numbers = iter(range(1_000))

    def make():
        if dialect == "sqlite":
            return f"sqlite:///{tmp_path}/fresh-{next(numbers)}.db"
        postgres = request.getfixturevalue("postgres")
        made.append(postgres.create_database(template=request.getfixturevalue("postgres_template")))
        return made[-1]

    yield make
    for url in made:
        request.getfixturevalue("postgres").drop_database(url)


def test_the_crash_matrix_crashes_effects_and_transactions_on_either_database(fresh_url):
    """S4: whatever point it crashes at, the same end and the same number of acts."""
    world: set[str] = set()

    def register():
        world.clear()
        app = Leasehold(fresh_url())

        @app.job(retry=AT_ONCE)
        def shop(task):
            def act(key):
                world.add(key)
                return key

            bought = task.effect("BUY", act, lookup=lambda key: key if key in world else None)
            booked = task.transaction("BOOK", lambda connection: connection.execute("SELECT 1").fetchall()[0][0])
            return [len(bought), booked]

        return app

    matrix = crash_matrix(register, lambda app: app.submit("shop"), lambda: len(world))
    points = [(run.kind, run.point) for run in matrix.runs[1:]]
    assert {kind for kind, _ in points} == {"BUY", "BOOK"}
    assert len(points) == 6
