"""What jobs that kill their worker cost the others: `python -m bench.poison`.

Three such jobs among 200 that sleep, and the same 200 alone, one after the other, each with one worker that is started
again when it dies. The jobs sleep so long that the 200 alone take about `--seconds`. Prints both times and their
ratio, and how many of the 200 did not end DONE; exits 1 if one did not, or if the ratio is above 2.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bench.bed import Bed, beds
from leasehold import Leasehold
from tests.support.wait import until

JOBS = 200
POISON = 3
RATIO_MAX = 2.0


def start(url: str, folder: str, concurrency: int) -> subprocess.Popen[bytes]:
    environment = os.environ | {"LEASEHOLD_URL": url, "WORKSHOP_FOLDER": folder}
    words = [sys.executable, "-m", "tests.support.processes.poisoned", str(concurrency)]
    log = (Path(folder) / "log").open("ab")
    return subprocess.Popen(words, env=environment, stdout=log, stderr=log)


@contextmanager
def app_of(bed: Bed) -> Iterator[Leasehold]:
    with closing(Leasehold(bed.url)) as app:
        app.migrate()
        yield app


def run(bed: Bed, concurrency: int, seconds: float, *, poison: int) -> tuple[float, int]:
    """Run the jobs to their ends; return the seconds it took and how many innocent ones did not end DONE."""
    with tempfile.TemporaryDirectory() as folder, app_of(bed) as app:
        worker = start(bed.url, folder, concurrency)
        until(lambda: b"worker_started" in (Path(folder) / "log").read_bytes())
        fields = [{"number": number, "seconds": seconds * concurrency / JOBS} for number in range(JOBS)]
        began = time.perf_counter()
        for place in range(poison):
            app.submit_many("innocent", fields[place * JOBS // poison : (place + 1) * JOBS // poison])
            app.submit("deadly", {"way": "kill"})
        if not poison:
            app.submit_many("innocent", fields)
        while left(app):
            if worker.poll() is not None:
                worker = start(bed.url, folder, concurrency)
            time.sleep(0.02)
        took = time.perf_counter() - began
        worker.terminate()
        worker.wait()
        return took, JOBS - sum(job.status == "DONE" for job in app.jobs(kind="innocent", limit=JOBS))


def left(app: Leasehold) -> int:
    counts = app.store.reports.remaining(["innocent", "deadly"], ["default"])
    return counts.ready + counts.running + counts.due


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.poison", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="about how long the jobs alone take (default: 20)")
    options = parser.parse_args()
    is_bad = False
    print(f"{'database':<10}{'at once':>8}{'alone':>10}{'with 3 poison jobs':>20}{'ratio':>8}{'harmed':>8}")
    with beds() as make:
        for name in ("sqlite", "postgres"):
            for concurrency in (1, 10, 50):
                alone, _ = run(make(name), concurrency, options.seconds, poison=0)
                took, harmed = run(make(name), concurrency, options.seconds, poison=POISON)
                ratio = took / alone
                print(f"{name:<10}{concurrency:>8}{alone:>9.1f}s{took:>19.1f}s{ratio:>8.2f}{harmed:>8}", flush=True)
                is_bad = is_bad or harmed > 0 or ratio > RATIO_MAX
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
