"""PostgreSQL stopped at once and started again, and a standby promoted, under workers that are never restarted."""

import contextlib

import pytest

from tests.servers.postgres import database_name
from tests.servers.standby import FOLLOWED, Standby
from tests.storms.ending import check_storm
from tests.storms.storm import Storm


def check_restarts(storm: Storm, server, restarts: int) -> None:
    storm.begin(workers=2)
    before = {hand.pid for hand in storm.company.workers}
    for _ in range(restarts):
        storm.struck("stop -m immediate")
        server.restart("immediate")
        storm.progress(10)
    assert {hand.pid for hand in storm.company.workers} == before
    check_storm(storm)


def test_l2_s3_a_server_stopped_at_once_and_started_again_loses_nothing(make_storm, private_postgres):
    server = private_postgres()
    check_restarts(make_storm("PostgreSQL restarts", server.create_database(), lease=5.0), server, 2)


@pytest.mark.soak
def test_l2_s3_a_hundred_restarts_of_the_server_lose_nothing(make_storm, private_postgres):
    server = private_postgres(durable=True)
    storm = make_storm("PostgreSQL restarts", server.create_database(), lease=5.0, patient=True)
    check_restarts(storm, server, 100)


def check_promotion(make_storm, private_postgres, jobs: int) -> None:
    """The primary is killed, and nobody but the standby has what was acknowledged."""
    primary = private_postgres(tcp=True)
    primary.stop()
    primary.settings |= FOLLOWED
    primary.start()
    database = database_name(primary.create_database())
    with contextlib.closing(Standby(primary)) as standby:
        standby.follow()
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://postgres@{hosts}/{database}?target_session_attrs=read-write"
        storm = make_storm("a standby promoted", url, lease=5.0)
        storm.begin(workers=2)
        storm.progress(jobs)
        storm.struck("primary killed")
        primary.kill()
        standby.promote()
        storm.progress(jobs)
        check_storm(storm)
        storm.close()


def test_s3_a_standby_promoted_when_the_primary_is_killed_has_all_that_was_acknowledged(make_storm, private_postgres):
    check_promotion(make_storm, private_postgres, 20)


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(10))
def test_s3_a_standby_promoted_again_and_again_has_all_that_was_acknowledged(make_storm, private_postgres, turn):
    check_promotion(make_storm, private_postgres, 100 + 17 * turn)
