"""Messages as files in a folder, for local use: `<token>.json`, there completely or not at all, and never overwritten.

A message is written under a temporary name and made durable, then linked to its name: the link is the moment of
sending. A file that exists was sent, one that does not was not, so this provider is exactly-once. What a crash leaves
behind is a hidden file ending in `.tmp`, which may be deleted. Programs that take files out of the folder must leave
copies: a message whose file is gone counts as never sent.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leasehold.model.delivery import Absent, Message, NotSent, Refused, Sent, Unknown
from leasehold.outbound import quoted
from leasehold.providers.errors import MaybeSent, as_json, checked_token


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that messages are written into; made with mode 0700 if it is not there, the files with 0600."""

    path: Path | str

    def send(self, message: Message) -> Sent:
        """Write the file, or find that it exists already; the id is the file's name."""
        name = _name(message)
        content = as_json(message, "message", "recipient", "subject", "token", "version") + b"\n"
        with contextlib.ExitStack() as stack:
            try:
                _make(Path(self.path))
                folder = stack.enter_context(_opened(self.path))
                draft = stack.enter_context(_draft(folder, name, content))
            except OSError as error:
                raise NotSent(f"The folder cannot be written: {quoted(error)}") from None
            _link(folder, draft, name)
            _confirm(folder, name)
        return Sent(name)

    def find(self, message: Message, notification_id: str | None) -> Sent | Absent | Unknown:  # noqa: ARG002
        try:
            name = _name(message)
            with _opened(self.path) as folder:
                _confirm(folder, name)
        except (FileNotFoundError, Refused):
            return Absent()
        except (OSError, MaybeSent) as error:
            return Unknown(quoted(error))
        return Sent(name)


def _make(path: Path) -> None:
    if path.is_dir():
        return
    _make(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    with _opened(path.parent) as above:
        os.fsync(above)


@contextlib.contextmanager
def _opened(path: Path | str) -> Iterator[int]:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _name(message: Message) -> str:
    return checked_token(message, "file's name") + ".json"


def _link(folder: int, draft: str, name: str) -> None:
    try:
        os.link(draft, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return
    except OSError as error:
        try:
            os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            raise NotSent(f"The folder cannot be written: {quoted(error)}") from None


@contextlib.contextmanager
def _draft(folder: int, name: str, content: bytes) -> Iterator[str]:
    """Yield the name of a complete, durable file that is gone afterwards."""
    draft = f".{name}.{secrets.token_hex(8)}.tmp"
    opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with open(opened, "wb") as file:  # noqa: PTH123
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)


def _confirm(folder: int, name: str) -> None:
    """Make sure that the file exists and is durable: the process that linked it may have died before this."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise MaybeSent(f"{name} is in the folder, but is not a file.")
    os.fsync(folder)
