"""What the oracle asks about the outside world: S4 (effects) and S14 (messages)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.support.oracle.evidence import Evidence

Key = tuple[str, int, int]


def s4_results(evidence: Evidence) -> Iterator[str]:
    """A recorded result is one that its attempt really got, stays as it is, and is there when the task is done."""
    yield from _foreign_results(evidence)
    live: Counter[tuple[str, str]] = Counter()
    for kind, key, _, _, was_live, _ in evidence.witnessed("acted"):
        live[kind, key] += bool(was_live)
    for (kind, key), count in live.items():
        if count > 1 and kind != "AGAIN":
            yield f"effect {kind} {key[:8]} was done {count} times by attempts that held their lease"
    for seen in evidence.seen:
        if seen.what in ("recorded", "answered") and seen.was is not None and seen.was != seen.now:
            yield f"the result of effect {str(seen.key)[:8]} was changed: {seen.was} → {seen.now}"
    yield from _missing_results(evidence)
    yield from _bookings(evidence)


def _foreign_results(evidence: Evidence) -> Iterator[str]:
    """Nobody has a result on record that he did not get: by his act, by his look-up, or from a person."""
    got: dict[str, set[str]] = defaultdict(set)  # by whomever
    own: dict[Key, set[str]] = defaultdict(set)
    for _, key, task, fence, _, result in evidence.witnessed("acted"):
        got[key].add(_text(result))
        own[key, task, fence].add(_text(result))
    for key, task, fence, result in evidence.witnessed("looked"):
        own[key, task, fence].add(_text(result))
    for key, result in evidence.witnessed("answered"):
        got[key].add(_text(json.loads(result or "null")))
    query = "SELECT key, kind, result FROM effect WHERE result IS NOT NULL AND kind <> 'BOOK'"
    for key, kind, result in evidence.look(query):
        if _text(json.loads(result)) not in got[key]:
            yield f"effect {kind} {key[:8]} has a result that nobody saw"
    yield from _not_gotten(evidence, own)


def _not_gotten(evidence: Evidence, own: dict[Key, set[str]]) -> Iterator[str]:
    for seen in evidence.seen:
        known = own.get((str(seen.key), seen.task, seen.fence or 0)) if seen.what == "recorded" else None
        if known is not None and seen.now is not None and _text(json.loads(seen.now)) not in known:
            yield f"effect {str(seen.key)[:8]}: attempt {seen.fence} of task {seen.task} recorded what it did not get"


def _missing_results(evidence: Evidence) -> Iterator[str]:
    """Whatever the attempt did that a task is DONE by is on record."""
    recorded = {key for (key,) in evidence.look("SELECT key FROM effect WHERE result IS NOT NULL")}
    done = {(one.task, one.fence) for one in evidence.current.values() if one.status == "DONE"}
    for kind, key, task, fence, _, _ in evidence.witnessed("acted"):
        if (task, fence) in done and key not in recorded and task in evidence.tasks:
            yield f"effect {kind} {key[:8]} was done by the attempt that task {task} is DONE by, and is not on record"


def _bookings(evidence: Evidence) -> Iterator[str]:
    """Rows that commit with their result are there exactly once for each result."""
    recorded = Counter(
        task for (task,) in evidence.look("SELECT task_id FROM effect WHERE kind = 'BOOK' AND result IS NOT NULL")
    )
    if not recorded and not any(facts.kind == "booked" for facts in evidence.tasks.values()):
        return
    booked = Counter(task for (task,) in evidence.look("SELECT task FROM booked"))
    for task in evidence.tasks:
        if booked[task] != recorded[task]:
            yield f"task {task} has booked {booked[task]} rows and has {recorded[task]} results on record"


def s14_deliveries(evidence: Evidence) -> Iterator[str]:
    """Send before mark; nobody who held the claim sent what may have been sent; good ends have all their messages."""
    sends = evidence.witnessed("sent")
    live = Counter(token for token, _, was_live, _ in sends if was_live)
    for token, count in live.items():
        if count > 1:
            yield f"message {token[:8]} was sent {count} times by relays that held it"
    ids: dict[str, set[str]] = defaultdict(set)
    for token, _, _, notification in sends:
        ids[token].add(notification)
    rows = evidence.look("SELECT id, subject, recipient, version, status, notification_id, task_id FROM delivery")
    tokens = {}
    for delivery, subject, recipient, version, status, notification, task in rows:
        token = tokens[delivery] = token_of(subject, recipient, version)
        if status == "sent" and notification not in ids[token]:
            yield f"delivery {delivery} is marked sent as {notification} and nobody sent it so"
        if not any(event.name == "done" for event in evidence.events[task]):
            yield f"delivery {delivery} is of task {task}, which did not end well"
    yield from _stale_marks(evidence, tokens)
    yield from _unbegun(evidence, tokens)
    yield from _unposted(evidence, {(row[1], row[2], row[3]) for row in rows})


def _stale_marks(evidence: Evidence, tokens: dict[int, str]) -> Iterator[str]:
    """Who marks has sent it under the claim that stood, or found it then."""
    sent = {(token, fence) for token, fence, _, _ in evidence.witnessed("sent")}
    known = sent | {(token, fence) for token, fence, found in evidence.witnessed("traced") if found is not None}
    if any(fence is None for _, fence in known):
        return  # the witness does not know the claims
    for seen in evidence.seen:
        if seen.what == "marked" and (tokens.get(seen.task), seen.fence) not in known and seen.task in tokens:
            yield f"delivery {seen.task} was marked under claim {seen.fence}, whose relay neither sent nor found it"


def _unbegun(evidence: Evidence, tokens: dict[int, str]) -> Iterator[str]:
    """Nobody sends what is not on record as begun, and nobody looks up or doubts what was only ever claimed."""
    if not evidence.has_audit_triggers:
        return
    begun = {tokens[seen.task] for seen in evidence.seen if seen.what == "begun" and seen.task in tokens}
    known = set(tokens.values())
    for token in sorted({row[0] for row in evidence.witnessed("sent")} & known - begun):
        yield f"message {token[:8]} was sent and it is not on record that anybody began to"
    for token in sorted({row[0] for row in evidence.witnessed("traced")} & known - begun):
        yield f"message {token[:8]} was looked up although nobody had begun to send it"


def _unposted(evidence: Evidence, there: set[tuple[str, str, int]]) -> Iterator[str]:
    done = {(one.task, one.fence) for one in evidence.current.values() if one.status == "DONE"}
    for task, fence, subject, recipient, version in evidence.witnessed("posted"):
        if (task, fence) in done and task in evidence.tasks and (subject, recipient, version) not in there:
            yield f"task {task} is DONE and its message '{subject}' is not there"


def token_of(subject: str, recipient: str, version: int) -> str:
    """Derive a message's token independently."""
    identity = {"recipient": recipient, "subject": subject, "v": 1, "version": version}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)
