"""Wake-ups for one SQLite file: each listener binds a socket in a private folder, and a notifier chooses among them.

A socket's name begins with the label of its listener, so it is renamed when that has no room for more work.
Where there are no such sockets, or the folder belongs to another user, nothing is sent and polling does the work.
"""

import errno
import hashlib
import os
import socket
import tempfile
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from leasehold.store.db.limits import BIND_TRIES, HINT_BYTES_MAX, LISTENERS_MAX
from leasehold.store.db.wake import ATTENTION, WOKEN_MAX, Profile, choose


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
    def __init__(self, path: Path, profile: Profile | None = None) -> None:
        self._profile = profile or Profile()
        self._place: Path | None = None
        self._socket, self._poke = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for _ in range(BIND_TRIES):  # another listener that closes may remove the empty folder meanwhile
            if self._bind_in(folder_of(path)):
                break

    def _bind_in(self, folder: Path) -> bool:
        self.address = uuid.uuid4().hex[:8]
        place = folder / self._name(is_full=False)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            received = _bind(place) if is_ours(folder) else None
        except OSError:
            return False
        if received is not None:
            self._socket.close()
            self._socket, self._place = received, place
        return True

    def _name(self, *, is_full: bool) -> str:
        return f"{self._profile.label(is_full=is_full)}-{self.address}"

    def show(self, *, is_full: bool) -> None:
        name = self._name(is_full=is_full)
        if self._place is not None and self._place.name != name:
            with suppress(OSError):  # it is gone, and polling does the work
                self._place = self._place.rename(self._place.with_name(name))

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

    def send(self, hints: Iterable[str], sender: str = "", most: int = WOKEN_MAX) -> None:
        names = [name for name in self._names() if not sender or not name.endswith(f"-{sender}")]
        left = set(hints)
        while left and names:  # again for those whose listener was gone
            messages: dict[str, set[str]] = {}
            for hint in left:
                for name in self._choose(names, hint, most):
                    messages.setdefault(name, set()).add(hint)
            gone = {name for name, words in messages.items() if not self._send_to(name, words)}
            names = [name for name in names if name not in gone]
            left = {hint for name in gone for hint in messages[name] if hint != ATTENTION}

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._folder))[:LISTENERS_MAX] if is_ours(self._folder) else []  # noqa: PTH208
        except OSError:
            return []

    def _choose(self, names: list[str], hint: str, most: int) -> Iterable[str]:
        if hint == ATTENTION:
            return names
        groups = choose(((name, name.rpartition("-")[0]) for name in names), hint)
        return (name for group in groups for name in group[:most])

    def _send_to(self, name: str, hints: set[str]) -> bool:
        """Return whether somebody is there; the socket of one that is gone is removed."""
        message = " ".join(sorted(hints)).encode("utf-8")
        try:
            self._socket.sendto(
                message if len(message) <= HINT_BYTES_MAX else ATTENTION.encode(), str(self._folder / name)
            )
        except ConnectionRefusedError:
            (self._folder / name).unlink(missing_ok=True)
            return False
        except OSError as error:
            return error.errno == errno.EAGAIN  # it has not read earlier ones yet, and will
        return True

    def close_rested(self, seconds: float) -> None:
        """Do nothing: a socket costs nobody anything."""

    def close(self) -> None:
        self._socket.close()
