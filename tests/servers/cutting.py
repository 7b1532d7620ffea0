"""A TCP proxy in front of a PostgreSQL server that counts the protocol's messages and cuts the line at a chosen one.

The messages of both directions are numbered over all connections, in the order in which they arrive here. The chosen
one is not passed on: one of a client never reaches the server; one of the server was sent after what it answers was
done, so swallowing the answer to a COMMIT leaves a client that cannot know.
"""

import socket
import struct
import threading
from collections import Counter
from contextlib import suppress
from enum import Enum

from tests.servers.listening import Listener, Pair

LENGTH = struct.Struct(">I")
COMMAND_COMPLETE = b"C"
BACKEND_KEY = b"K"


class Direction(Enum):
    """Who sends."""

    CLIENT = "client"
    SERVER = "server"


class CuttingProxy(Listener):
    """Listens on a port of its own and forwards to the server's, message by message."""

    def __init__(self, server_port: int) -> None:
        super().__init__(server_port)
        self.seen: Counter[Direction] = Counter()
        self.cuts = 0
        self.swallowed: Counter[str] = Counter()  # answers that were cut off, by what was done: COMMIT, SELECT, …
        self.is_pooler = False
        self._cut_at: tuple[Direction, int] | None = None
        self._lock = threading.Lock()
        self.listen()

    def link(self, client: socket.socket, server: socket.socket) -> "_Link":
        return _Link(self, client, server)

    def arm(self, direction: Direction, number: int) -> None:
        """Count anew, and cut at this message."""
        with self._lock:
            self.seen.clear()
            self._cut_at = (direction, number)

    def disarm(self) -> int:
        """Cut no more; return how many messages were counted in the chosen direction."""
        with self._lock:
            chosen, self._cut_at = self._cut_at, None
            return self.seen[chosen[0]] if chosen else 0

    def passes(self, direction: Direction, message: bytes) -> bool:
        """Count a message; tell whether it may pass."""
        with self._lock:
            self.seen[direction] += 1
            if self._cut_at != (direction, self.seen[direction]):
                return True
            self.cuts += 1
            if direction is Direction.SERVER and message[:1] == COMMAND_COMPLETE:
                self.swallowed[message[5:].decode().partition(" ")[0].rstrip("\0")] += 1
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
