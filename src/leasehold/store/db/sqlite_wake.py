"""Wake-ups for one SQLite file: each listener binds a socket in a private folder, and a notifier sends to all of them.

Where there are no such sockets, or the folder belongs to another user, nothing is sent and polling does the work.
"""

import hashlib
import os
import socket
import tempfile
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from leasehold.store.db.limits import BIND_TRIES, HINT_BYTES_MAX, LISTENERS_MAX
from leasehold.store.db.wake import ATTENTION


def folder_of(path: Path) -> Path:
    """Return the folder with the sockets of a database file's listeners."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    uid = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"leasehold-{uid}-{digest}"


def is_ours(folder: Path) -> bool:
    """Whether nobody else can have put sockets there."""
    return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()


def _bind(place: Path) -> socket.socket:
    received = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        received.bind(str(place))
    except OSError:
        received.close()
        raise
    return received


class SocketListener:
    def __init__(self, path: Path) -> None:
        self._place: Path | None = None
        self._socket, self._poke = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for _ in range(BIND_TRIES):  # another listener that closes may remove the empty folder meanwhile
            if self._bind_in(folder_of(path)):
                break

    def _bind_in(self, folder: Path) -> bool:
        place = folder / uuid.uuid4().hex[:12]
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            received = _bind(place) if is_ours(folder) else None
        except OSError:
            return False
        if received is not None:
            self._socket.close()
            self._socket, self._place = received, place
        return True

    def wait(self, seconds: float) -> set[str]:
        hints: set[str] = set()
        self._socket.settimeout(seconds)
        try:
            while True:
                hints.update(self._socket.recv(HINT_BYTES_MAX).decode("utf-8", "replace").split())
                self._socket.settimeout(0)
        except OSError:
            return hints

    def close(self) -> None:
        if self._place is not None:
            self._place.unlink(missing_ok=True)
            with suppress(OSError):  # other listeners are still there
                self._place.parent.rmdir()
        self._socket.close()
        self._poke.close()


class SocketNotifier:
    def __init__(self, path: Path) -> None:
        self._folder = folder_of(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(0)

    def send(self, hints: Iterable[str]) -> None:
        message = " ".join(sorted(hints)).encode("utf-8")
        if len(message) > HINT_BYTES_MAX:
            message = ATTENTION.encode("utf-8")
        try:
            places = sorted(self._folder.iterdir())[:LISTENERS_MAX] if is_ours(self._folder) else []
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
        self._socket.close()
