"""The guard of an isolated handler: forks the child that runs it, and ends everything below when it is time.

Run as a script with two descriptors: `life` (its other end closed means: end everything) and `output` (to the
worker). Forks before any thread exists. `leasehold.process_tree` explains how none escapes.
"""

import contextlib
import json
import os
import signal
import sys

from leasehold import process_tree


def main() -> None:
    life, output = int(sys.argv[1]), int(sys.argv[2])
    process_tree.adopt_orphans()
    child = os.fork()
    if child == 0:
        process_tree.die_with_parent()
        process_tree.offer_to_oom_killer()
        os.close(life)
        from leasehold.runtime.execute.isolated.child import main as run_child

        run_child(output)
        return
    process_tree.leave_signals_to_the_parent()
    os.close(0)
    tree = process_tree.ProcessTree(child)
    tree.watch(life)
    if tree.end is not None:
        with contextlib.suppress(OSError):
            os.write(output, json.dumps({"exit": tree.end.code, "memory_kb": tree.end.memory_kb}).encode() + b"\n")
    os.close(output)
    tree.kill()
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
