"""A worker of a run that tests kill: `python -m tests.pipelines.translate.worker` with the environment of a worker."""

from leasehold.pipelines.translate.settings import settings_of_this_process
from leasehold.pipelines.translate.toolchain import Toolchain

CONCURRENCY = 4


def main():
    Toolchain(settings_of_this_process()).app.work(concurrency=CONCURRENCY, grace=5)


if __name__ == "__main__":
    main()
