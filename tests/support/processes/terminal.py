"""A terminal for programs that draw: what they have drawn can be read."""

import os
import pty
import re
import termios
import threading

STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A terminal of its own, read to its end on a thread."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        termios.tcsetwinsize(self.theirs, (40, 120))
        self._written = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while block := self._block():
            self._written += block

    def _block(self) -> bytes:
        try:
            return os.read(self._ours, 65_536)
        except OSError:  # Linux raises this when nobody is left at the other end
            return b""

    def pictures(self, first: str) -> list[str]:
        """All that were drawn whole so far, without colours: each begins with a word and is over when the next does."""
        text = STEERING.sub("", bytes(self._written).decode(errors="replace"))
        return text.split(first)[1:-1]

    def close(self) -> None:
        """Let go of it, and read what is left."""
        os.close(self.theirs)
        self._thread.join(timeout=60)
        os.close(self._ours)
