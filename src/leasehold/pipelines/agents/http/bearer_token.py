"""The bearer token: from a file, from the environment, or made and stored; never from a command line.

A file that others may read is refused, because everybody who has the token runs commands as this user.
"""

import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.agents.http.limits import TOKEN_BYTES, TOKEN_CHARACTERS_MIN, TOKEN_FILE_BYTES_MAX
from leasehold.redact import register

TOKEN_VARIABLE: Final = "LEASEHOLD_AGENTS_TOKEN"  # noqa: S105 — a name
TOKEN_FILE: Final = "agents-http.token"  # noqa: S105 — a name
PRIVATE: Final = 0o600
_token: Final = re.compile(rf"[A-Za-z0-9._~+/=-]{{{TOKEN_CHARACTERS_MIN},{TOKEN_FILE_BYTES_MAX}}}")


class TokenInvalid(Misuse, code="URM_HTTP_TOKEN_INVALID"):
    """A bearer token has at least 32 characters of `A-Za-z0-9._~+/=-`, in a file that only its owner can read."""


@dataclass(frozen=True, slots=True)
class BearerToken:
    """The token, and where it came from, as people are shown it."""

    text: str = field(repr=False)
    source: str


def find_token(file: Path | None, home: Path, environment: Mapping[str, str] = os.environ) -> BearerToken:
    """Return the token of a file, else of the environment, else the one that is kept in `home`, made if need be."""
    if file is not None:
        found = BearerToken(read_token(file), str(file))
    elif TOKEN_VARIABLE in environment:
        found = BearerToken(_checked(environment[TOKEN_VARIABLE], TOKEN_VARIABLE), TOKEN_VARIABLE)
    else:
        kept = home / TOKEN_FILE
        make_token(kept)
        found = BearerToken(read_token(kept), str(kept))
    register(found.text)
    return found


def read_token(file: Path) -> str:
    try:
        opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise TokenInvalid(f"{file}: {error.strerror}.") from None
    try:
        _check_owner(file, os.fstat(opened))
        text = os.read(opened, TOKEN_FILE_BYTES_MAX + 1).decode("ascii", "replace")
    finally:
        os.close(opened)
    return _checked(text, str(file))


def _check_owner(file: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_uid not in (os.geteuid(), 0):
        raise TokenInvalid(f"{file} is not a file of this user.")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise TokenInvalid(f"{file} can be read by others; run: chmod 600 {file}")


def make_token(file: Path) -> None:
    """Store a new token, unless there is one. It appears whole, and with its mode, under its name."""
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    made = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        opened = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE)
        with os.fdopen(opened, "w", encoding="ascii") as content:
            content.write(f"{secrets.token_urlsafe(TOKEN_BYTES)}\n")
            content.flush()
            os.fsync(opened)
        try:
            os.link(made, file)
        except FileExistsError:
            return  # another server was faster: both use its token
    finally:
        made.unlink(missing_ok=True)


def _checked(text: str, source: str) -> str:
    found = text.strip()
    if not _token.fullmatch(found):
        raise TokenInvalid(f"That of {source} is not.")
    return found
