"""Workers killed in the middle of files, again and again: every hash is right, and no byte is fetched twice."""

import hashlib
import os
import random

from leasehold.pipelines.download import read_manifest
from tests.support.processes.fork_server import ROOT, start_module
from tests.support.wait import until

FILES = 6
SIZE = 3_000_000
KILLS = 2  # after that its tasks would run one after the other


def worker(settings, log):
    words = ["worker", "leasehold.pipelines.download", "--concurrency", "10"]
    environment = {**os.environ, **settings.environment(), "PYTHONPATH": str(ROOT)}
    return start_module("leasehold", *words, env=environment, stdout=log, stderr=log)


def test_s4_files_of_killed_workers_are_whole_and_no_range_is_fetched_twice_beyond_the_torn_part(
    server, collection, tmp_path
):
    contents = {f"/{number}": random.Random(number).randbytes(SIZE) for number in range(FILES)}
    stalls = {path: sorted(random.Random(path).sample(range(100_000, SIZE // 2, 1_000), KILLS)) for path in contents}
    urls = []
    for path, content in contents.items():
        stops = [later - earlier for earlier, later in zip([0, *stalls[path]], stalls[path], strict=False)]
        urls.append(server.add(path, content, stall_after=stops))
    jobs = collection.plan(read_manifest(urls))
    with (tmp_path / "log").open("wb") as log:
        for number in range(1, KILLS + 1):
            process = worker(collection.settings, log)
            wanted = number * FILES
            until(lambda: len(server.stalled) >= wanted, timeout=120)  # noqa: B023 — it is over before the next
            until(lambda: written(collection) >= sent(server), timeout=120)
            process.kill()
            process.wait()
        process = worker(collection.settings, log)
        until(lambda: all(job.status.settled for job in jobs), timeout=120)
        process.terminate()
        assert process.wait() == 0
    assert [job.output["sha256"] for job in jobs] == [hashlib.sha256(one).hexdigest() for one in contents.values()]
    for path in contents:
        lines = server.gets(path)
        assert [line.status for line in lines] == [200] + [206] * KILLS
        reached = 0
        for line in lines:
            assert line.first == reached, "a range was fetched twice, or left out"
            reached = line.first + line.sent
        assert reached == SIZE


def written(collection):
    return sum(path.stat().st_size for path in collection.content_store.staging.glob("*.part"))


def sent(server):
    """How much of every file went out in answers that stall now, with all before them."""
    return sum(line.first + line.sent for line in server.stalled[-FILES:])
