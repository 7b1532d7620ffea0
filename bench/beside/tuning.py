"""Try settings of one peer side by side: `python -m bench.beside.tuning PEER NAME=VALUE[,NAME=VALUE…] …`.

Each argument is one setting, as environment variables that the peer's script reads. All are tried in turn, several
times, so that a busy machine is busy for all of them. What is fastest becomes the script's default.
"""

from __future__ import annotations

import os
import statistics
import sys

from bench.beside import workloads
from bench.beside.install import install
from bench.beside.peers import BY_NAME, POSTGRES
from bench.beside.place import ground
from bench.beside.workloads import Subject

ROUNDS = 3
SECONDS = 3
TRIAL_JOBS = 500


def main() -> None:
    """Print the rate of a one-worker drain for each setting, fastest first."""
    peer = BY_NAME[sys.argv[1]]
    settings = [dict(word.split("=", 1) for word in argument.split(",")) for argument in sys.argv[2:]]
    rates: dict[str, list[float]] = {str(setting): [] for setting in settings}
    install(peer)
    database = POSTGRES if POSTGRES in peer.ledgers else next(iter(peer.ledgers))
    with ground() as lands:
        subject = Subject(peer, lands, database)
        count = max(TRIAL_JOBS, int(workloads.drain(subject, TRIAL_JOBS)["drain 1"] * SECONDS))
        for _ in range(ROUNDS):
            for setting in settings:
                os.environ.update(setting)
                rates[str(setting)].append(workloads.drain(subject, count)["drain 1"])
    for setting, found in sorted(rates.items(), key=lambda pair: -statistics.median(pair[1])):
        print(f"{statistics.median(found):>12,.0f}  ({min(found):,.0f}–{max(found):,.0f})  {setting}")


if __name__ == "__main__":
    main()
