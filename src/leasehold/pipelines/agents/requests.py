"""Requests answered once: the answer is stored in the transaction of what the request did."""

from collections.abc import Callable
from typing import Any

from leasehold.canonical import decode, encode
from leasehold.pipelines.agents.errors import IdempotencyConflict
from leasehold.pipelines.agents.records.records import Transaction
from leasehold.pipelines.agents.runtime_state import sha256_of
from leasehold.pipelines.agents.sessions import check_id

Answer = dict[str, Any]


def answer_once(
    transaction: Transaction,
    endpoint: str,
    client_request_id: str,
    body: Any,
    ts: str,
    work: Callable[[], Answer],
) -> Answer:
    """Return the stored answer of a request; if there is none, do its work and store the answer."""
    if (found := find_answer(transaction, endpoint, client_request_id, body)) is not None:
        return found
    answered, key = work(), {"endpoint": endpoint, "client_request_id": client_request_id}
    transaction.run("request/insert", **key, body_sha256=sha256_of(body), answer=encode(answered), ts=ts)
    return answered


def find_answer(transaction: Transaction, endpoint: str, client_request_id: str, body: Any) -> Answer | None:
    """Return the stored answer of a request, None if there is none; `IdempotencyConflict` if its body was another."""
    key = {"endpoint": endpoint, "client_request_id": check_id(client_request_id, "client_request_id")}
    sent = sha256_of(body)
    for stored, answer in transaction.run("request/find", **key):
        if stored != sent:
            raise IdempotencyConflict(**key, stored_sha256=stored, sent_sha256=sent)
        found: Answer = decode(answer)
        return found
    return None
