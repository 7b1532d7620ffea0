"""The doctor's look at what keeps a database from cleaning up: readers that stay, and transactions that do not end.

On SQLite they let the write-ahead log grow; on PostgreSQL they keep dead rows, and every claim must step over those.
"""

import threading
import time
from pathlib import Path

from leasehold import clock
from leasehold.insight import limits
from leasehold.insight.finding import Finding, Grade, ok
from leasehold.redact import RedactionFailed, scrub
from leasehold.store import Store
from leasehold.store.db import sqlite_wal
from leasehold.store.db.limits import WAL_BYTES_MAX
from leasehold.store.db.sqlite import SqliteDialect
from leasehold.store.db.sqlite_wal import WalReader, WalState
from leasehold.store.reports import Pin


def check(store: Store, pinned_seconds: float = limits.PINNED_SECONDS_MAX) -> Finding:
    dialect = store.database.dialect
    if isinstance(dialect, SqliteDialect):
        return check_wal(sqlite_wal.inspect(dialect.path), find_long_readers(dialect.path))
    return check_pins(store.reports.pins(clock.microseconds(pinned_seconds)))


def find_long_readers(path: Path) -> list[WalReader]:
    """Return who reads the same snapshot the whole time; nobody waits where nobody reads."""
    readers = sqlite_wal.inspect(path).readers
    over = time.monotonic() + limits.READ_SECONDS_MAX
    pause = threading.Event()
    while readers and time.monotonic() < over:
        pause.wait(limits.READ_POLL_SECONDS)
        readers &= sqlite_wal.inspect(path).readers
    return sorted(readers, key=lambda reader: reader.pid)


def check_wal(wal: WalState, long_readers: list[WalReader]) -> Finding:
    """Check the size of the write-ahead log, and who keeps it from being truncated."""
    text = f"{wal.size / limits.MEGABYTE:.1f} MB"
    if long_readers:
        names = ", ".join(f"process {reader.pid}{_command(reader.pid)}" for reader in long_readers[: limits.NAMED_MAX])
        advice = f"A read transaction of {names} stays open: the log grows until it ends. End it, or stop the process."
        return Finding("wal", Grade.WARN, f"{text}; held back by {_count(long_readers)}", advice)
    if wal.size <= WAL_BYTES_MAX:
        return ok("wal", text)
    advice = "More than {:.0f} MB: a worker or `leasehold orchestrate` truncates it within seconds; start one."
    return Finding("wal", Grade.WARN, text, advice.format(WAL_BYTES_MAX / limits.MEGABYTE))


def check_pins(pins: list[Pin]) -> Finding:
    """Check what keeps PostgreSQL from removing dead rows."""
    hidden = next((pin.name for pin in pins if pin.what == "hidden"), "")
    found = [pin for pin in pins if pin.what != "hidden"]
    text = "; ".join(_describe(pin) for pin in found[: limits.NAMED_MAX]) or "none stays open"
    if len(found) > limits.NAMED_MAX:
        text += f"; and {len(found) - limits.NAMED_MAX} more"
    if hidden:
        text += f"; {hidden} sessions of other roles cannot be seen without pg_read_all_stats"
    if not found:
        return ok("transactions", text)
    remedies = " ".join(dict.fromkeys(_remedy(pin) for pin in found[: limits.NAMED_MAX]))
    return Finding("transactions", Grade.WARN, text, f"They keep dead rows, so that claims become slow. {remedies}")


def _describe(pin: Pin) -> str:
    age = "" if pin.age_us is None else f" for {pin.age_us / clock.SECOND:.0f} s"
    match pin.what:
        case "transaction":
            return f"process {pin.name} ({pin.detail}) has a transaction open{age}"
        case "prepared":
            return f"prepared transaction '{pin.name}' of {pin.detail} waits{age}"
        case _:
            return f"nobody reads replication slot '{pin.name}' ({pin.detail})"


def _remedy(pin: Pin) -> str:
    quoted = pin.name.replace("'", "''")
    match pin.what:
        case "transaction":
            return f"End it: SELECT pg_terminate_backend({pin.name});"
        case "prepared":
            return f"Finish it: COMMIT PREPARED '{quoted}'; or ROLLBACK PREPARED '{quoted}';"
        case _:
            return f"If its reader does not come back: SELECT pg_drop_replication_slot('{quoted}');"


def _command(pid: int) -> str:
    """Return how a process was started, as far as this host shows it, without secrets."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()[: limits.COMMAND_BYTES_MAX].decode(errors="replace")
        command = scrub(words.replace("\0", " ").strip())
    except (OSError, RedactionFailed):
        return ""
    return f" ({command[: limits.COMMAND_LENGTH_MAX]})" if command else ""


def _count(readers: list[WalReader]) -> str:
    return f"{len(readers)} reader{'s' if len(readers) > 1 else ''}"
