"""Try settings of one peer side by side: `python -m bench.compare.tuning PEER [NAME=VALUE[,NAME=VALUE…] …]`.

Each argument is one setting, as environment variables that the peer's script reads; without any, those written down
here are tried. All are tried in turn with the defaults of the script, several times, so that a busy machine is
busy for all of them. What is clearly fastest becomes the script's default; within the spread, what its documents name.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager

from bench.compare import workloads
from bench.compare.install import install
from bench.compare.peers import BY_NAME
from bench.compare.place import ground
from bench.compare.workloads import Subject

SECONDS = 3
TRIAL_JOBS = 500
Setting = dict[str, str]

# Around what was fastest, to both sides, and what a peer's own documents or benchmark have.
GRIDS = {
    "leasehold": ("LEASEHOLD_CONCURRENCY=200", "LEASEHOLD_CONCURRENCY=500", "LEASEHOLD_CONCURRENCY=2000"),
    "pgqueuer": (
        "PGQ_CONSUMERS=5,PGQ_BATCH=10",
        "PGQ_CONSUMERS=1,PGQ_BATCH=100",
        "PGQ_CONSUMERS=2,PGQ_BATCH=250",
        "PGQ_CONSUMERS=1,PGQ_BATCH=500",
        "PGQ_CONSUMERS=2,PGQ_BATCH=100",
        "PGQ_CONSUMERS=2,PGQ_BATCH=1000",
    ),
    "procrastinate": (
        "PRO_WORKERS=1,PRO_CONCURRENCY=20,PRO_POOL=20",
        "PRO_WORKERS=2,PRO_CONCURRENCY=5,PRO_POOL=20",
        "PRO_WORKERS=8,PRO_CONCURRENCY=2,PRO_POOL=20",
        "PRO_WORKERS=16,PRO_CONCURRENCY=2,PRO_POOL=40",
    ),
    "dbos": (
        "DBOS_THREADS=4",
        "DBOS_THREADS=16",
        "DBOS_FLYING=1000",
        "DBOS_FLYING=1000,DBOS_POLL=0.5",
        "DBOS_POLL=0.01",
    ),
    "awa-pg": (
        "AWA_CLAIMERS=2",
        "AWA_CLAIMERS=4",
        "AWA_WORKERS=128,AWA_BATCH=128",
        "AWA_WORKERS=1024,AWA_BATCH=512",
        "AWA_CONNECTIONS=10",
    ),
    "absurd-sdk": ("ABSURD_CLIENTS=4", "ABSURD_CLIENTS=8", "ABSURD_CLIENTS=32", "ABSURD_BATCH=20", "ABSURD_BATCH=200"),
    "graphile-worker": ("GW_LOCAL=2000", "GW_LOCAL=5000", "GW_JOBS=100", "GW_JOBS=10,GW_POOL=11"),
    "huey": ("HUEY_WORKERS=2", "HUEY_WORKERS=4", "HUEY_WORKERS=8"),
}


@contextmanager
def surrounded(setting: Setting) -> Iterator[None]:
    """Have the peer's processes started with that setting."""
    os.environ.update(setting)
    try:
        yield
    finally:
        for name in setting:
            del os.environ[name]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.compare.tuning", description=__doc__)
    parser.add_argument("peer", choices=tuple(BY_NAME))
    parser.add_argument("setting", nargs="*", help="NAME=VALUE[,NAME=VALUE…]")
    parser.add_argument("--database", choices=("postgres", "sqlite"), help="the peer's first one if not given")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main() -> None:
    """Print the rate of a one-worker drain for each setting, fastest first."""
    given = options()
    peer = BY_NAME[given.peer]
    install(peer)
    words = ["", *(given.setting or GRIDS.get(peer.name, ()))]
    settings: dict[str, Setting] = {
        word: dict(part.split("=", 1) for part in word.split(",") if part) for word in words
    }
    rates: dict[str, list[float]] = {word: [] for word in words}
    with ground() as lands:
        subject = Subject(peer, lands, given.database or next(iter(peer.ledgers)))
        count = max(TRIAL_JOBS, int(workloads.drain(subject, TRIAL_JOBS)["drain 1"].value * SECONDS))
        for word, setting in list(settings.items()) * given.rounds:
            with surrounded(setting):
                rates[word].append(workloads.drain(subject, count)["drain 1"].value)
    for word, found in sorted(rates.items(), key=lambda pair: -statistics.median(pair[1])):
        spread = f"({min(found):,.0f}–{max(found):,.0f})"
        print(f"{statistics.median(found):>12,.0f}  {spread:<20}  {word or 'as it is'}")


if __name__ == "__main__":
    main()
