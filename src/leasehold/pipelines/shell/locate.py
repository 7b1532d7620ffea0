"""Which database the jobs of a folder are in.

They are in the folder itself, or in a database elsewhere. Then the folder remembers its kind, and never its URL, which
may hold a password: that is passed with every command, or set in LEASEHOLD_URL.
"""

import os
from pathlib import Path
from typing import Final

from leasehold.errors import Misuse

HOME: Final = ".leasehold"  # the engine's own files in the folder of a pipeline
URL_VARIABLE: Final = "LEASEHOLD_URL"
_SAME: Final = {"postgres": "postgresql"}


class DatabaseUrlMissing(Misuse, code="DATABASE_URL_MISSING"):
    """The jobs of this folder are in another database, whose URL the folder does not keep."""


class DatabaseInFolder(Misuse, code="DATABASE_IN_FOLDER"):
    """The jobs of this folder are in a database inside the folder."""


def database_kind(url: str) -> str:
    """Return the kind of database that a URL names, such as postgresql; empty without a URL."""
    scheme = url.partition(":")[0].lower()
    return _SAME.get(scheme, scheme)


def database_url(folder: Path, given: str, remembered: str, *, is_inside: bool) -> str:
    """Return the URL of the folder's database; empty where it is in the folder.

    `remembered`: the kind of database that the folder was created with; `is_inside`: whether it has one of its own.
    """
    url = given or (os.environ.get(URL_VARIABLE, "") if remembered else "")
    if given and not remembered and is_inside:
        raise DatabaseInFolder(f"Leave out --url, or use another folder; this one is {folder}.")
    if remembered and database_kind(url) != remembered:
        raise DatabaseUrlMissing(f"Pass --url {remembered}://… or set {URL_VARIABLE}; the folder is {folder}.")
    return url


def local_database(folder: Path, name: str) -> str:
    return f"sqlite:///{(folder / HOME / name).absolute()}"
