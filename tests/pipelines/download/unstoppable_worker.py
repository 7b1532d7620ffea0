"""A command that ends while its worker cannot stop, after two requests to stop."""

import os
import signal
import sys
from pathlib import Path

from leasehold.processes import Stop, WorkerProcesses, WorkerSpec, forked_processes
from tests.support.processes.stopped import has_stopped
from tests.support.wait import until


def main(folder: Path) -> None:
    stop = Stop()
    spec = WorkerSpec(("worker", "--help"), {}, folder / "log")
    with forked_processes(1) as forked, WorkerProcesses(spec, 1, stop, forked) as workers:
        (worker,) = workers.waiting
        os.kill(worker.pid, signal.SIGSTOP)
        until(lambda: has_stopped(worker.pid))  # of two pending signals, SIGTERM would be handled first
        workers.start()
        for _ in range(2):
            stop(signal.SIGINT, None)
    sys.stdout.write(str(worker.returncode))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
