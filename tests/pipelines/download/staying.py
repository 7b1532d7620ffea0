"""A command that ends while its worker cannot leave, and that was told to stop twice."""

import os
import signal
import sys
from pathlib import Path

from leasehold.pipelines.crew import Stop
from leasehold.pipelines.download.collection import Settings
from leasehold.pipelines.download.process.forked_workers import Children
from tests.support.processes.stopping import has_stopped
from tests.support.wait import until


def main(folder: Path) -> None:
    wish = Stop()
    with Children(Settings(folder), 1, ("worker", "--help"), folder / "log") as ready:
        (hand,) = ready.hands
        os.kill(hand.pid, signal.SIGSTOP)
        until(lambda: has_stopped(hand.pid))  # of two signals that it has not taken yet, it takes SIGTERM first
        ready.begin(wish)
        for _ in range(2):
            wish(signal.SIGINT, None)
    sys.stdout.write(str(hand.returncode))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
