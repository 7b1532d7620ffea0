"""The command as another user, whom permissions bind: everything is loaded before root's rights are given up."""

import locale  # noqa: F401 — argparse imports these two when it needs them
import os
import shutil  # noqa: F401
import sys

from leasehold.runlock.command import main

NOBODY = 65_534

if __name__ == "__main__":
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    sys.exit(main())
