"""What a NOTIFY inside a transaction costs when 64 clients commit at once: `python -m bench.notify`.

PostgreSQL lets one transaction with a NOTIFY commit at a time, in the order of the commits, and its sync to the disk
is part of that. Three ways take turns on one durable server: no wake-up, a NOTIFY inside each transaction, and a
wake-up that follows each commit on a connection that is shared and does not wait for the disk. Ratios are of rates.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Final

import psycopg

from bench.bed import beds
from bench.report import Report
from leasehold.store import open_store

PROCESSES: Final = 4
WAYS: Final = ("none", "inside", "after")


def commit_all(url: str, way: str, clients: int, seconds: float) -> int:
    """Commit small transactions on so many connections for a while; return how many were committed."""
    store = open_store(url)
    done = [0] * clients
    over = threading.Event()
    ready = threading.Barrier(clients + 1)

    def commit(number: int) -> None:
        with psycopg.connect(url) as connection:
            ready.wait()
            while not over.is_set():
                connection.execute("INSERT INTO row_of_mine (note) VALUES ('x')")
                if way == "inside":
                    connection.execute("SELECT pg_notify('leasehold', 'default')")
                connection.commit()
                if way == "after":
                    store.wake(["default"])
                done[number] += 1

    threads = [threading.Thread(target=commit, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait()
    time.sleep(seconds)
    over.set()
    for thread in threads:
        thread.join()
    store.close()
    return sum(done)


def measure(report: Report, *, clients: int, seconds: float, rounds: int) -> None:
    """Measure the three ways in turn, so that all have the same machine, and note the median of each."""
    rates: dict[str, list[float]] = {way: [] for way in WAYS}
    with beds() as make, ProcessPoolExecutor(PROCESSES) as pool:
        bed = make("postgres")
        bed.sql("CREATE TABLE row_of_mine (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text)")
        for _ in range(rounds):
            for way in WAYS:
                each = clients // PROCESSES
                counts = pool.map(commit_all, *zip(*[(bed.url, way, each, seconds)] * PROCESSES, strict=True))
                rates[way].append(sum(counts) / seconds)
    medians = {way: statistics.median(found) for way, found in rates.items()}
    for way, what in zip(WAYS, ("without a wake-up", "with NOTIFY inside", "with a wake-up after"), strict=True):
        report.note(f"{clients} clients: commits {what}", medians[way])
    for way in WAYS[1:]:
        report.note(
            f"{clients} clients: rate with a wake-up {way}, of the rate without", medians[way] / medians["none"], ""
        )


def main() -> int:
    """Print the rates and their ratios, for one client and for 64."""
    parser = argparse.ArgumentParser(prog="python -m bench.notify", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each way is measured in each round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    report = Report()
    for clients in (4, 64):
        measure(report, clients=clients, seconds=options.seconds, rounds=options.rounds)
    return 1 if report.close() else 0


if __name__ == "__main__":
    sys.exit(main())
