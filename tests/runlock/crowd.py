"""Many processes that all start on the same stale lock at the same moment, in folder after folder.

    python -m tests.runlock.crowd FOLDER STARTERS

They are forked once and meet at a barrier before each folder, so that they differ by microseconds and not by the time
Python takes to start. What came of each is one line of JSON: starter, folder, exit code.
"""

import json
import multiprocessing
import os
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path

from leasehold.runlock import EXIT_OK, RunLockError, acquire
from tests.runlock.lock_files import at

SECONDS_MAX = 120


def start(run_dir: Path, number: int) -> int:
    try:
        acquire(run_dir, f"starter-{number}", now=at(200), audit=lambda line: None)
    except RunLockError as error:
        return error.exit_code
    return EXIT_OK


def starter(number: int, folders: list[Path], barrier: Barrier, results: Path) -> None:
    lines = []
    for folder in folders:
        barrier.wait(SECONDS_MAX)
        lines.append({"starter": number, "folder": folder.name, "code": start(folder, number)})
    results.write_text(json.dumps(lines))


def main() -> int:
    root, count = Path(sys.argv[1]), int(sys.argv[2])
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(count)
    folders = sorted(path for path in root.iterdir() if path.is_dir())
    results = [root / f"starter-{number}.json" for number in range(count)]
    started = [
        context.Process(target=starter, args=(number, folders, barrier, result))
        for number, result in enumerate(results)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    return max(abs(process.exitcode or 0) for process in started)


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main())
