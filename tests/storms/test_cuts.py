"""The line to PostgreSQL cut at every message of a small run, in either direction; and pgbouncer in between."""

import contextlib
import time

import pytest

from tests.lab.oracle import Evidence, judge
from tests.lab.witness import Journal
from tests.servers.cutting import CuttingProxy, Direction
from tests.servers.pgbouncer import PgBouncer
from tests.servers.postgres import database_name
from tests.storms.app import NARROW, TURNS, make_app, work_of
from tests.storms.ending import check_storm
from tests.storms.figures import Proof
from tests.workshop.looking import rows

PLAIN = "sslmode=disable&gssencmode=disable"
# A delivery whose claim was answered by nobody waits for two minutes; it has a storm of its own.
KINDS = [number for number, kind in enumerate(TURNS) if kind in ("plain", "sure", "flaky", "film", "narrow", "again")]


class Cutter:
    """Small runs of everything, each through the proxy and each cut at one message."""

    def __init__(self, server, proxy: CuttingProxy, folder) -> None:
        database = database_name(server.create_database())
        self.direct = server.url(database, tcp=True)
        self._url = f"postgresql://postgres@127.0.0.1:{proxy.port}/{database}?{PLAIN}"
        self._proxy = proxy
        self._folder = folder
        self._journal = Journal(folder / "witness")
        self.runs = 0
        with contextlib.closing(make_app(self.direct, folder)) as app:
            app.migrate()
            app.queues.limit("narrow", NARROW)

    def run(self, direction: Direction, number: int) -> int:
        """Submit and drain a few jobs while the line is cut at this message; return how many messages there were."""
        self._proxy.arm(direction, number)
        with contextlib.closing(make_app(self._url, self._folder, direct=self.direct)) as app:
            for one in KINDS:
                kind, payload, key = work_of(self.runs * len(TURNS) + one)
                job = app.submit(kind, payload, key=key)
                self._journal.saw("acked", job.id, kind, key)
            app.drain(concurrency=4, timeout=120)
        self.runs += 1
        return self._proxy.disarm()

    def judge(self) -> list[str]:
        undone = rows(self.direct, "SELECT task_id FROM outcome WHERE status <> 'DONE'")
        found = judge(Evidence(lambda query: rows(self.direct, query), self._journal.lines, {"narrow": NARROW}))
        return found + [f"S3: task {task} is not DONE" for (task,) in undone]


def check_cuts(private_postgres, folder, stride: int) -> CuttingProxy:
    """From the first message of a run to its last, in steps of `stride`."""
    started = time.monotonic()
    server = private_postgres(tcp=True)
    with CuttingProxy(server.port) as proxy:
        cutter = Cutter(server, proxy, folder)
        longest = {}
        for direction in Direction:
            number, longest[direction.value] = 1, cutter.run(direction, 0)
            while number <= longest[direction.value]:
                cutter.run(direction, number)
                number += stride
        wrong = cutter.judge()
    counts = {"runs": cutter.runs, **{f"messages of the {name}": count for name, count in longest.items()}}
    Proof(
        storm="connection cuts",
        database="postgres",
        counts=counts,
        faults={"cuts": proxy.cuts, **{f"swallowed {tag}": count for tag, count in proxy.swallowed.items()}},
        seconds=round(time.monotonic() - started, 1),
        lease_seconds=30.0,
        repickups=0,
        repickup_p99_seconds=None,
        repickup_max_seconds=None,
        verdict=wrong[:20],
    ).write()
    assert wrong == []
    assert proxy.cuts >= cutter.runs // 2
    return proxy


def test_s2_s3_s5_a_line_cut_here_and_there_loses_nothing_and_settles_nothing_twice(private_postgres, tmp_path):
    check_cuts(private_postgres, tmp_path, 150)


@pytest.mark.soak
def test_s2_s3_s5_a_line_cut_at_every_message_loses_nothing_and_settles_nothing_twice(private_postgres, tmp_path):
    proxy = check_cuts(private_postgres, tmp_path, 1)
    assert proxy.swallowed["COMMIT"] > 0


@pytest.mark.soak
def test_s3_workers_behind_pgbouncer_in_transaction_mode_lose_nothing(make_storm, private_postgres):
    server = private_postgres(tcp=True)
    database = database_name(server.create_database())
    with PgBouncer(server, database) as pool:
        storm = make_storm("pgbouncer", pool.url(database), lease=5.0, direct=server.url(database, tcp=True))
        storm.begin(workers=3)
        for _ in range(20):
            hand = storm.holder()
            storm.struck("SIGKILL", hand.pid)
            hand.kill()
            storm.company.hire()
            storm.progress(30)
        check_storm(storm)
        storm.close()
