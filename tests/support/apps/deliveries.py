"""Deliveries for tests: rows as a settled task leaves them, and the app whose relay processes send them.

`python -m tests.support.apps.deliveries` runs a relay. Its one provider is made from the URL in MAILING_PROVIDER, and
notes each send in the workshop's journal before it is made.
"""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from leasehold import Leasehold, canonical
from leasehold.model.delivery import Absent, Message, OutgoingMessage, Provider, Sent, Unknown, make_message
from leasehold.model.lease import Settlement
from leasehold.providers import from_url
from leasehold.store import Store
from tests.store import work

PROVIDER = "mail"


class Noted:
    """A provider that reports each send and look-up before it is made."""

    def __init__(self, provider: Provider, report: Callable[[str, str], object]) -> None:
        self._provider = provider
        self._report = report

    def send(self, message: Message) -> Sent:
        self._report("send", message.recipient)
        return self._provider.send(message)

    def find(self, message: Message, notification_id: str | None) -> Sent | Absent | Unknown:
        self._report("find", message.recipient)
        return self._provider.find(message, notification_id)


def post(recipient: str = "ada@example.org", *, version: int = 1, provider: str = PROVIDER) -> OutgoingMessage:
    message = {"title": "Review of change 17", "text": "Three findings.\n"}
    return make_message("change-17", recipient, version, message, provider)


def write(store: Store, *posts: OutgoingMessage) -> list[int]:
    """Have a task deliver these; return the deliveries' ids."""
    worker = work.register(store)
    key = f"mailing-{worker}"
    work.submit(store, key, kind="mailing")
    lease = work.claim_one(store, worker, routes=["mailing"])
    store.leases.settle([Settlement(lease.task_id, lease.fence, "DONE", "null", deliveries=list(posts))])
    return sorted(one.id for one in store.deliveries.list(most=1_000) if one.task_id == lease.task_id)


def let_expire(store: Store, ids: Sequence[int]) -> None:
    """Have the claims on these run out now, as they would when their relay is gone."""
    with work.connect(store) as connection:
        table = "delivery" if store.url.startswith("sqlite") else "leasehold.delivery"
        for one in ids:
            connection.execute(f"UPDATE {table} SET due_at = 1 WHERE id = {one} AND due_at IS NOT NULL")  # noqa: S608


def change(store: Store, delivery_id: int, assignments: str) -> None:
    """Do to a row what the engine never does."""
    with work.connect(store) as connection:
        table = "delivery" if store.url.startswith("sqlite") else "leasehold.delivery"
        connection.execute(f"UPDATE {table} SET {assignments} WHERE id = {delivery_id}")  # noqa: S608


def note(*words: str) -> None:
    journal = os.open(Path(os.environ["WORKSHOP_FOLDER"]) / "journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(journal, (" ".join(words) + "\n").encode())
    os.close(journal)


def make_app() -> Leasehold:
    app = Leasehold()
    app.deliveries.provider(PROVIDER, Noted(from_url(os.environ["MAILING_PROVIDER"]), note))
    return app


def fields(folder: Path) -> list[dict]:
    """Return the messages in a folder."""
    return [canonical.decode(path.read_bytes()) for path in sorted(folder.glob("*.json"))]


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    make_app().deliveries.relay()
