"""The command as another user, whom permissions bind: everything is loaded before root's rights are given up."""

import os
import sys

from leasehold.runlock.command import main

NOBODY = 65_534

if __name__ == "__main__":
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    sys.exit(main())
