"""Wake-ups on one host for one SQLite file.

Each ear binds a datagram socket in a private folder, a mouth sends to all of them.

Where there are no such sockets, or the folder belongs to another user, nothing is sent and polling does the work.
"""

from __future__ import annotations

import hashlib
import os
import socket
import tempfile
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from leasehold.store.db.wake import ATTENTION

WORDS_MAX: Final = 8_192
EARS_MAX: Final = 256
TRIES: Final = 3


def folder_of(path: Path) -> Path:
    """Name the folder where the ears of a database file are."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    uid = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"leasehold-{uid}-{digest}"


def is_ours(folder: Path) -> bool:
    """Whether nobody else can have put sockets there."""
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def _bound(place: Path) -> socket.socket:
    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        heard.bind(str(place))
    except OSError:
        heard.close()
        raise
    return heard


class SocketListener:
    """Hears words on a socket of its own."""

    def __init__(self, path: Path) -> None:
        self._place: Path | None = None
        self._socket, self._poke = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for _ in range(TRIES):  # another ear that leaves may take the empty folder away meanwhile
            if self._settle_in(folder_of(path)):
                break

    def _settle_in(self, folder: Path) -> bool:
        place = folder / uuid.uuid4().hex[:12]
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            heard = _bound(place) if is_ours(folder) else None
        except OSError:
            return False
        if heard is not None:
            self._socket.close()
            self._socket, self._place = heard, place
        return True

    def wait(self, seconds: float) -> set[str]:
        """Return the words heard within `seconds`."""
        words: set[str] = set()
        self._socket.settimeout(seconds)
        try:
            while True:
                words.update(self._socket.recv(WORDS_MAX).decode("utf-8", "replace").split())
                self._socket.settimeout(0)
        except OSError:
            return words

    def close(self) -> None:
        """Stop listening and take the socket away."""
        if self._place is not None:
            self._place.unlink(missing_ok=True)
            with suppress(OSError):  # others are still there
                self._place.parent.rmdir()
        self._socket.close()
        self._poke.close()


class SocketNotifier:
    """Sends words to every ear of a file."""

    def __init__(self, path: Path) -> None:
        self._folder = folder_of(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(0)

    def send(self, words: Iterable[str]) -> None:
        """Send words; an ear whose process is gone is cleared away."""
        message = " ".join(sorted(words)).encode("utf-8")
        if len(message) > WORDS_MAX:
            message = ATTENTION.encode("utf-8")
        try:
            places = sorted(self._folder.iterdir())[:EARS_MAX] if is_ours(self._folder) else []
        except OSError:
            return
        for place in places:
            try:
                self._socket.sendto(message, str(place))
            except ConnectionRefusedError:
                place.unlink(missing_ok=True)
            except OSError:
                continue

    def close(self) -> None:
        """Stop sending."""
        self._socket.close()
