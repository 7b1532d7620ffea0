"""A TCP proxy in front of a PostgreSQL server that counts the protocol's messages and cuts the line at a chosen one.

The messages of both directions are numbered over all connections, in the order in which they arrive here. The chosen
one is not passed on: one of a client never reaches the server; one of the server was sent after what it answers was
done, so swallowing the answer to a COMMIT leaves a client that cannot know. A message's kind is who sends it, its name
in the protocol, and of the answer to a statement what was done: `client Query`, `server CommandComplete COMMIT`.
"""

import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress
from enum import Enum

from tests.support.http.forwarder import Listener, Pair

LENGTH = struct.Struct(">I")
BACKEND_KEY = b"K"
COMPLETE = "server CommandComplete "
# The protocol's names; a client's first message has no type, and its length begins with a zero byte.
CLIENT = {
    "\0": "Startup", "B": "Bind", "C": "Close", "D": "Describe", "E": "Execute", "H": "Flush", "P": "Parse",
    "Q": "Query", "S": "Sync", "X": "Terminate", "c": "CopyDone", "d": "CopyData", "f": "CopyFail", "p": "Password",
}  # fmt: skip
SERVER = {
    "1": "ParseComplete", "2": "BindComplete", "3": "CloseComplete", "A": "NotificationResponse",
    "C": "CommandComplete", "D": "DataRow", "E": "ErrorResponse", "G": "CopyInResponse", "H": "CopyOutResponse",
    "I": "EmptyQueryResponse", "K": "BackendKeyData", "N": "NoticeResponse", "R": "Authentication",
    "S": "ParameterStatus", "T": "RowDescription", "Z": "ReadyForQuery", "c": "CopyDone", "d": "CopyData",
    "n": "NoData", "s": "PortalSuspended", "t": "ParameterDescription",
}  # fmt: skip


class Direction(Enum):
    """Who sends."""

    CLIENT = "client"
    SERVER = "server"


def kind_of(direction: Direction, message: bytes) -> str:
    """Name the kind of a message."""
    letter = message[:1].decode("latin-1")
    name = (CLIENT if direction is Direction.CLIENT else SERVER).get(letter, letter)
    if name == "CommandComplete":
        return COMPLETE + message[5:].decode().partition(" ")[0].rstrip("\0")
    return f"{direction.value} {name}"


class CuttingProxy(Listener):
    """Listens on a port of its own and forwards to the server's, message by message."""

    def __init__(self, server_port: int) -> None:
        super().__init__(server_port)
        self.seen: Counter[Direction | str] = Counter()  # since it was armed, by direction and by kind
        self.cut: Counter[str] = Counter()  # messages that were not passed on, by kind
        self.cut_at: list[int] = []  # when, in microseconds since 1970
        self.is_pooler = False
        self._chosen: tuple[Direction | str, int] | None = None
        self._lock = threading.Lock()
        self.listen()

    def link(self, client: socket.socket, server: socket.socket) -> "_Link":
        return _Link(self, client, server)

    @property
    def cuts(self) -> int:
        return len(self.cut_at)

    @property
    def swallowed(self) -> Counter[str]:
        """Count the answers that were cut off, by what was done: COMMIT, SELECT and so on."""
        found = {kind.partition(COMPLETE)[2]: count for kind, count in self.cut.items()}
        return Counter({tag: count for tag, count in found.items() if tag})

    def arm(self, chosen: Direction | str, number: int) -> None:
        """Count again from zero, and cut at this message of a direction or of a kind."""
        with self._lock:
            self.seen.clear()
            self._chosen = (chosen, number)

    def disarm(self) -> int:
        """Cut no more; return how many messages of the chosen direction or kind were counted."""
        with self._lock:
            chosen, self._chosen = self._chosen, None
            return self.seen[chosen[0]] if chosen else 0

    def passes(self, direction: Direction, message: bytes) -> bool:
        """Count a message; return whether it may pass."""
        kind = kind_of(direction, message)
        with self._lock:
            self.seen.update((direction, kind))
            if self._chosen not in ((direction, self.seen[direction]), (kind, self.seen[kind])):
                return True
            self.cut[kind] += 1
            self.cut_at.append(time.time_ns() // 1_000)
            return False

    def masked(self, message: bytes) -> bytes:
        """Give out another number for that of the server's process, as a pooler does, if this is to look like one."""
        if not self.is_pooler or message[:1] != BACKEND_KEY:
            return message
        return message[:5] + bytes(byte ^ 0x55 for byte in message[5:9]) + message[9:]


class _Link(Pair):
    """One client's connection: a thread for each direction."""

    def __init__(self, proxy: CuttingProxy, client: socket.socket, server: socket.socket) -> None:
        super().__init__(client, server)
        self._proxy = proxy
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ways = ((Direction.CLIENT, client, server), (Direction.SERVER, server, client))
        self.start(*(threading.Thread(target=self._pump, args=way, daemon=True) for way in ways))

    def _pump(self, direction: Direction, source: socket.socket, target: socket.socket) -> None:
        messages = _Messages(is_begun=direction is Direction.SERVER)
        with suppress(OSError):
            while received := source.recv(1 << 20):
                whole = messages.take(received)
                passed = 0
                while passed < len(whole) and self._proxy.passes(direction, whole[passed]):
                    passed += 1
                target.sendall(b"".join(map(self._proxy.masked, whole[:passed])))
                if passed < len(whole):
                    break
        self.hang_up()


class _Messages:
    """Cuts a stream of bytes into messages: a type and a length each, but for a client's first, which has no type."""

    def __init__(self, *, is_begun: bool) -> None:
        self._is_begun = is_begun
        self._rest = b""

    def take(self, received: bytes) -> list[bytes]:
        """Return the messages that are complete."""
        self._rest += received
        found: list[bytes] = []
        while (size := self._size()) and len(self._rest) >= size:
            found.append(self._rest[:size])
            self._rest = self._rest[size:]
            self._is_begun = True
        return found

    def _size(self) -> int:
        start = 1 if self._is_begun else 0
        if len(self._rest) < start + LENGTH.size:
            return 0
        length: int = LENGTH.unpack_from(self._rest, start)[0]
        return start + length
