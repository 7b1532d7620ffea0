"""A program that works under a lock until it loses it: started as a process, to be stopped and overtaken."""

import sys
import threading

from leasehold.runlock import RunLockError, hold


def main() -> int:
    pause = threading.Event()
    try:
        with hold(sys.argv[1], "run-1", interval_seconds=0.02) as held:
            sys.stdout.write("held\n")
            sys.stdout.flush()
            while not held.is_lost:
                pause.wait(0.01)
            held.check()
    except RunLockError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
