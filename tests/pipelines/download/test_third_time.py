"""The same command again and again: it goes on where it was, and where all is here it does nothing."""

import random
import signal

from tests.pipelines.download.commanding import known, ordered, workers
from tests.waiting import until

CONTENT = random.Random(11).randbytes(300_000)
EVENTS = "SELECT count(*), max(id) FROM event"


def run_twice(folder, lines, server):
    """Stop a first run in the middle of a file, and let a second one have the rest."""
    with ordered(folder, lines) as first:
        until(lambda: server.stalled, timeout=120)
        first.signal(signal.SIGINT)
        assert first.end() == 128 + signal.SIGINT
    server.released.set()
    with ordered(folder, lines) as second:
        assert second.end() == 0
        return second.log


def test_a_third_time_nothing_is_asked_of_a_server_and_no_worker_starts(folder, server):
    lines = [server.add("/slow", CONTENT, stall_after=[100_000]), server.add("/quick", b"quick")]
    assert run_twice(folder, lines, server) == "2 here.\n"
    log = folder.root / ".leasehold" / "workers.log"
    log.unlink()  # every worker makes it anew
    asked, before, journal = len(server.log), workers(folder), known(folder, EVENTS)
    assert before
    with ordered(folder, lines) as third:
        assert (third.end(), third.log) == (0, "Nothing to do: 2 here.\n")
    assert len(server.log) == asked
    assert workers(folder) == before
    assert known(folder, EVENTS) == journal
    assert not log.exists()


def test_what_is_here_twice_or_was_here_before_is_no_reason_to_start_a_worker_either(folder, server):
    lines = [server.add("/one", CONTENT), server.add("/twin", CONTENT)]
    for _ in range(2):
        with ordered(folder, lines, "--workers", "1") as hand:
            assert hand.end() == 0
    asked, before = len(server.log), workers(folder)
    with ordered(folder, lines) as third:
        assert (third.end(), third.log) == (0, "Nothing to do: 1 here, 1 here (same content).\n")
    assert (len(server.log), workers(folder)) == (asked, before)
    assert len(before) == 1
