"""The line to PostgreSQL cut, in either direction, under small runs of everything, mail included; and poolers.

The short form cuts a message of every kind that a run without a cut has, the answer to a COMMIT more than once. The
long form cuts at every message by its number: from the first on, until no run is so long any more.
"""

from collections import Counter

import pytest

from tests.chaos.figures import Fault
from tests.chaos.final_checks import check_storm, check_verdict
from tests.chaos.storm import Storm
from tests.support.databases.cutting_proxy import COMPLETE, CuttingProxy, Direction
from tests.support.databases.pgbouncer import PLAIN, pooler
from tests.support.databases.postgres import database_name
from tests.support.needs import find_program

LEASE = 2.0
RUN_SECONDS = 200
COMMITTED = f"{COMPLETE}COMMIT"
COMMITS = 3
# How often a message is waited for that came in a run before: runs are not all alike, wake-ups come or do not come.
TRIES = 6
MESSAGES_MAX = 5_000


class Cutter:
    """Small runs in processes of their own, each through the proxy and each cut at one message."""

    def __init__(self, storm: Storm, proxy: CuttingProxy) -> None:
        self.storm = storm
        self.proxy = proxy
        self.runs = 0
        storm.prepare()

    def run(self, chosen: Direction | str, number: int) -> bool:
        """Run once while the line is cut at this message; return whether the message came."""
        before = self.proxy.cuts
        self.proxy.arm(chosen, number)
        worker = self.storm.processes.run("tests.chaos.once", str(self.runs))
        assert worker.end(RUN_SECONDS) == 0, worker.failure
        self.proxy.disarm()
        self.runs += 1
        return self.proxy.cuts > before

    def cut(self, chosen: Direction | str, number: int) -> bool:
        """Cut at this message, in as many runs as it takes until one has it; return whether one had."""
        return any(self.run(chosen, number) for _ in range(TRIES))

    def cut_at_every_message(self, direction: Direction) -> int:
        """Cut at the first message, the second, and so on, until no run is so long; return the number of the last."""
        last = 0
        while last < MESSAGES_MAX and self.cut(direction, last + 1):
            last += 1
        self.storm.measured[f"messages of the {direction.value}"] = last
        return last

    def uncut(self) -> Counter[Direction | str]:
        """Run without a cut, and return how many messages there were; the very first run has some more."""
        for _ in range(2):
            self.run(Direction.CLIENT, 0)
        return self.proxy.seen.copy()

    def check(self) -> None:
        """Hold what is left against everything that was promised."""
        storm, proxy = self.storm, self.proxy
        storm.faults.update({"cuts": proxy.cuts, **{f"cut at {kind}": count for kind, count in proxy.cut.items()}})
        storm.moments += [Fault(at, 0, is_deadly=False) for at in proxy.cut_at]
        storm.measured["runs"] = self.runs
        check_verdict(storm)


@pytest.fixture
def make_cutter(make_storm, private_postgres):
    """Makes a storm of small runs through a proxy: `make_cutter(**options)`."""
    server = private_postgres(tcp=True)
    database = database_name(server.create_database())
    with CuttingProxy(server.port) as proxy:
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database}?{PLAIN}"
        direct = server.url(database, tcp=True)
        yield lambda **options: Cutter(
            make_storm("connection cuts", url, lease=LEASE, direct=direct, patient=False, **options), proxy
        )


def test_s2_s3_s5_s14_a_line_cut_at_every_kind_of_message_loses_nothing_and_settles_nothing_twice(make_cutter):
    cutter = make_cutter()
    kinds = {kind: count for kind, count in cutter.uncut().items() if isinstance(kind, str)}
    for kind, count in kinds.items():
        assert cutter.cut(kind, cutter.storm.dice.randint(1, count)) or cutter.cut(kind, 1), kind
    for number in range(1, COMMITS + 1):
        later = number * kinds[COMMITTED] // (COMMITS + 1) + 1  # if the other runs are as long as that one was
        assert cutter.cut(COMMITTED, later) or cutter.cut(COMMITTED, number)
    cutter.check()
    assert cutter.proxy.cut.keys() >= kinds.keys()
    assert cutter.proxy.swallowed["COMMIT"] > COMMITS


@pytest.mark.soak
def test_s2_s3_s5_s14_a_line_cut_at_every_message_loses_nothing_and_settles_nothing_twice(make_cutter):
    """At every number from the first message to the last that one of six runs had, in either direction.

    No two runs have the same messages, so the last number is near that of a run without a cut; every kind was cut.
    """
    spared = "A worker whose connection is cut releases the leases of a claim without an answer."
    cutter = make_cutter(long=True, spared=spared)
    uncut = cutter.uncut()
    last = {direction: cutter.cut_at_every_message(direction) for direction in Direction}
    for kind in [kind for kind in uncut if isinstance(kind, str) and kind not in cutter.proxy.cut]:
        assert cutter.cut(kind, 1), kind  # once in a run, at a number that is another in every run
    cutter.check()
    assert [way for way, number in last.items() if number < 0.9 * uncut[way]] == []
    assert cutter.proxy.cuts >= last[Direction.CLIENT] + last[Direction.SERVER]
    assert cutter.proxy.cut.keys() >= {kind for kind in uncut if isinstance(kind, str)}
    assert cutter.proxy.swallowed["COMMIT"] > 0


def check_pooled(storm: Storm, kills: int) -> None:
    storm.begin(workers=3)
    for _ in range(kills):
        storm.kill_holder()
        storm.progress(30)
    check_storm(storm)


@pytest.mark.parametrize(
    "program", [None, find_program("pgbouncer")], ids=["a proxy that looks like one", "what is installed"]
)
def test_s3_workers_behind_a_pooler_lose_nothing(make_storm, private_postgres, program):
    """Behind pgbouncer in transaction mode where it is installed; behind what the engine takes for one everywhere."""
    server = private_postgres(tcp=True)
    database = database_name(server.create_database())
    with pooler(server, database, program) as url:
        name = "a proxy like a pooler" if program is None else "pgbouncer"
        storm = make_storm(name, url, lease=5.0, direct=server.url(database, tcp=True))
        check_pooled(storm, 2)
        storm.close()


@pytest.mark.soak
def test_s3_workers_behind_pgbouncer_in_transaction_mode_lose_nothing(make_storm, private_postgres):
    program = find_program("pgbouncer")
    assert program is not None, "This storm needs pgbouncer. On Debian: apt install pgbouncer"
    server = private_postgres(tcp=True)
    database = database_name(server.create_database())
    with pooler(server, database, program) as url:
        storm = make_storm("pgbouncer", url, lease=5.0, long=True, direct=server.url(database, tcp=True))
        check_pooled(storm, 20)
        storm.close()
