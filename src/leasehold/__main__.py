"""`python -m leasehold` is the command `leasehold`.

Python puts the working folder first on the path for `-m`; the command never imports from there, unless it is given
an app (`worker MODULE:APP`). So the folder goes before anything else is imported.
"""

import os
import sys

if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 — pathlib would be imported from the folder
    del sys.path[0]

from leasehold.cli import main

if __name__ == "__main__":
    main()
