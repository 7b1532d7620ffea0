"""Batches as one JSON document each: a single parameter is far faster than many, on both databases."""

from collections.abc import Iterable, Sequence

import msgspec

from leasehold.model.task import Child, Submission, Terms

_encoder = msgspec.json.Encoder()


def document(items: Sequence[object]) -> str:
    """Return a batch of structs, numbers or names as one JSON text."""
    return _encoder.encode(items).decode("utf-8")


def _terms(terms: Terms) -> dict[str, object]:
    return {
        "queue": terms.queue,
        "attempts_max": terms.attempts_max,
        "lease_ms": terms.lease_ms,
        "on_lost": terms.on_lost,
    }


def jobs(submissions: Iterable[Submission]) -> str:
    """Return submissions as the document that `submit` reads."""
    return document(
        [
            {
                "kind": one.kind,
                "key": one.key,
                "payload": one.payload,
                "priority": one.priority,
                "delay_us": one.delay_us,
                "unmet": one.unmet,
                **_terms(one.terms),
            }
            for one in submissions
        ]
    )


def children(parts: Iterable[Child]) -> str:
    """Return stages or segments as the document that `spawn` reads."""
    return document(
        [
            {
                "job_id": part.job_id,
                "parent_id": part.parent_id,
                "kind": part.kind,
                "stage": part.stage,
                "segment": part.segment,
                "item": part.item,
                "each_field": part.each_field,
                "priority": part.priority,
                "delay_us": part.delay_us,
                "unmet": part.unmet,
                "epoch": part.epoch,
                **_terms(part.terms),
            }
            for part in parts
        ]
    )
