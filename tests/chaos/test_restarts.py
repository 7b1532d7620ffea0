"""PostgreSQL stopped at once and started again, and a standby promoted, under workers that are never restarted.

While the server is away nobody can pick up anything, so that time is not counted.
"""

import contextlib
import time

import pytest

from tests.chaos.final_checks import check_storm
from tests.chaos.storm import REST_SECONDS, Storm, last_until
from tests.support.databases.postgres import PostgresServer, database_name
from tests.support.databases.standby import FOLLOWED, Standby
from tests.support.wait import until

BUSY = "SELECT count(*) FROM lease JOIN task ON task.id = lease.task_id WHERE task.queue <> 'narrow'"
BUSY_MIN = 3


def be_away(server: PostgresServer, seconds: float) -> None:
    """Stop the server at once, and start it when that long has passed."""
    gone = time.monotonic()
    server.stop("immediate")
    last_until(gone + seconds)
    server.start()


def check_restarts(storm: Storm, server: PostgresServer, restarts: int) -> None:
    """By turns the server is back at once, or away for longer than a lease lasts: then leases are lost."""
    storm.begin(workers=2)
    before = {worker.pid for worker in storm.processes.workers}
    for number in range(restarts):
        until(lambda: storm.look(BUSY)[0][0] >= BUSY_MIN, timeout=REST_SECONDS)
        is_long, since = number % 2 == 1, storm.now()
        be_away(server, 1.2 * storm.lease if is_long else 0.0)
        storm.returned_from("stop -m immediate", since, is_deadly=is_long)
        storm.owed += is_long
        storm.progress(10)
    assert {worker.pid for worker in storm.processes.workers} == before
    proof = check_storm(storm)
    assert proof.counts["reclaimed"] >= restarts // 2
    assert proof.repickups.count >= restarts // 2


def test_l2_s3_a_server_stopped_at_once_and_started_again_loses_nothing(make_storm, private_postgres):
    server = private_postgres()
    check_restarts(make_storm("PostgreSQL restarts", server.create_database(), lease=1.0), server, 2)


@pytest.mark.soak
def test_l2_s3_a_hundred_restarts_of_the_server_lose_nothing(make_storm, private_postgres):
    server = private_postgres(durable=True)
    storm = make_storm("PostgreSQL restarts", server.create_database(), lease=2.0, long=True)
    check_restarts(storm, server, 100)


def check_promotion(make_storm, private_postgres, jobs: int, name: str, **options) -> None:
    """The primary is killed with a worker, and nobody but the standby has what was acknowledged."""
    primary = private_postgres(tcp=True)
    primary.stop()
    primary.settings |= FOLLOWED
    primary.start()
    database = database_name(primary.create_database())
    with contextlib.closing(Standby(primary)) as standby:
        standby.follow()
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"
        storm = make_storm(name, url, lease=5.0, **options)
        storm.begin(workers=3)
        storm.progress(jobs)
        storm.kill_holder()
        since = storm.now()
        primary.kill()
        standby.promote()
        storm.returned_from("primary killed", since)
        storm.progress(jobs)
        check_storm(storm)
        storm.close()


def test_s3_a_standby_promoted_when_the_primary_is_killed_has_all_that_was_acknowledged(make_storm, private_postgres):
    check_promotion(make_storm, private_postgres, 20, "a standby promoted")


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(1, 11))
def test_s3_a_standby_promoted_again_and_again_has_all_that_was_acknowledged(make_storm, private_postgres, turn):
    check_promotion(make_storm, private_postgres, 100 + 17 * turn, f"a standby promoted, turn {turn}", long=True)
