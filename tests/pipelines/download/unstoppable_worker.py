"""A command that ends while its worker cannot stop, after two requests to stop."""

import os
import signal
import sys
from pathlib import Path

from leasehold.processes import Stop, WorkerProcesses, WorkerSpec
from tests.support.processes.stopped import has_stopped
from tests.support.wait import until


def main(folder: Path) -> None:
    stop = Stop()
    with WorkerProcesses(WorkerSpec(("worker", "--help"), {}, folder / "log"), 1, stop, prefork=True) as workers:
        (worker,) = workers.waiting
        os.kill(worker.pid, signal.SIGSTOP)
        until(lambda: has_stopped(worker.pid))  # of two pending signals, SIGTERM would be handled first
        workers.start()
        for _ in range(2):
            stop(signal.SIGINT, None)
    sys.stdout.write(str(worker.returncode))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
