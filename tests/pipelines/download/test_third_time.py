"""The same command again and again: it goes on where it was, and where all is here it does nothing."""

import random
import signal

import pytest

from tests.pipelines.download.command_process import download_command, query, workers
from tests.support.wait import until

CONTENT = random.Random(11).randbytes(300_000)
MANY = 400
EVENTS = "SELECT count(*), max(id) FROM event"


def run_twice(folder, lines, server):
    """Stop a first run in the middle of a file, and let a second one have the rest."""
    with download_command(folder, lines) as first:
        until(lambda: server.stalled, timeout=120)
        first.signal(signal.SIGINT)
        assert first.end() == 128 + signal.SIGINT
    server.released.set()
    with download_command(folder, lines) as second:
        assert second.end() == 0
        return second.log


def test_a_third_time_nothing_is_asked_of_a_server_and_no_worker_starts(folder, server):
    lines = [server.add("/slow", CONTENT, stall_after=[100_000]), server.add("/quick", b"quick")]
    assert run_twice(folder, lines, server) == "2 downloaded.\n"
    log = folder.root / ".leasehold" / "workers.log"
    log.unlink()  # every worker makes it again
    asked, before, journal = len(server.log), workers(folder), query(folder, EVENTS)
    assert before
    with download_command(folder, lines) as third:
        assert (third.end(), third.log) == (0, "Nothing to do: 2 downloaded.\n")
    assert len(server.log) == asked
    assert workers(folder) == before
    assert query(folder, EVENTS) == journal
    assert not log.exists()


def test_what_is_here_twice_or_was_here_before_is_no_reason_to_start_a_worker_either(folder, server):
    lines = [server.add("/one", CONTENT), server.add("/twin", CONTENT)]
    for _ in range(2):
        with download_command(folder, lines, "--workers", "1") as command:
            assert command.end() == 0
    asked, before = len(server.log), workers(folder)
    with download_command(folder, lines) as third:
        assert (third.end(), third.log) == (0, "Nothing to do: 1 downloaded, 1 duplicate.\n")
    assert (len(server.log), workers(folder)) == (asked, before)
    assert len(before) == 1


@pytest.mark.soak
def test_a_stop_among_hundreds_of_small_files_throws_none_away_that_had_come(folder, server):
    """What a server has sent whole is kept: the next run asks for it no more. A worker has its grace for that.

    On a machine that is busy with other things the last bytes may not have been read when the grace is over.
    """
    contents = {f"/{number}": random.Random(number).randbytes(8_000 + number) for number in range(MANY)}
    lines = [server.add(path, content) for path, content in contents.items()]
    with download_command(folder, lines, "--per-host", "48") as first:
        until(lambda: sum(line.method == "GET" for line in server.log) >= MANY // 3, timeout=120)
        first.signal(signal.SIGINT)
        assert first.end() in (0, 128 + signal.SIGINT)
    before = {path for path, content in contents.items() if any(_is_whole(line, content) for line in server.gets(path))}
    assert 0 < len(before) < MANY, "the stop came too late, or too early"
    with download_command(folder, lines) as second:
        assert second.end() == 0
    again = [path for path in before if len(server.gets(path)) > 1]
    assert again == []
    assert {len(server.gets(path)) for path in contents} <= {1, 2}


def _is_whole(line, content):
    return line.sent == len(content)
