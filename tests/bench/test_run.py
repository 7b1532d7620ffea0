"""A peer that fails is a finding: it is written down and kept, and the others are measured."""

import pytest

from bench.compare.figures import Results, load
from bench.compare.peers import SQLITE, Ledger, Peer
from bench.compare.place import Ground
from bench.compare.run import QUICK, Run, take
from bench.compare.workloads import Subject

BROKEN = Peer("broken", "no_such_script.py", ("broken==1",), {SQLITE: Ledger("SELECT 0")}, "")


@pytest.fixture
def run(postgres, tmp_path):
    ground = Ground(postgres, tmp_path)
    return Run(ground, QUICK, Results({"ways": {}, "histories": {}}), tmp_path / "run.json", set(), set())


def test_a_peer_that_cannot_start_is_written_down_with_its_reason_and_kept(run):
    take(run, [Subject(BROKEN, run.ground, SQLITE)], "drain1", 0)
    ((database, peer, workload, reason),) = load(run.path).missing
    assert (database, peer, workload) == (SQLITE, "broken", "drain1")
    assert reason.startswith("failed in repeat 1: ")


def test_what_failed_twice_is_not_tried_a_third_time(run):
    subject = Subject(BROKEN, run.ground, SQLITE)
    for repeat in range(3):
        take(run, [subject], "drain1", repeat)
    assert [reason.partition(":")[0] for *_, reason in run.results.missing] == [
        "failed in repeat 1",
        "failed in repeat 2",
    ]
    assert run.has_failed(subject, "drain1")
