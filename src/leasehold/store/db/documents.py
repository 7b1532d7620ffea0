"""Batches as one JSON document each: a single parameter is far faster than many, on both databases."""

from collections.abc import Sequence
from typing import Any

import msgspec

from leasehold.model.task import Child, Submission

_encoder = msgspec.json.Encoder()


def document(items: Sequence[object]) -> str:
    """Return a batch of structs, numbers or names as one JSON text."""
    return _encoder.encode(items).decode("utf-8")


def with_terms(tasks: Sequence[Submission] | Sequence[Child]) -> str:
    """Return jobs, stages or segments as the document that `submit` and `spawn` read: terms next to other fields."""
    return document([_flat(task) for task in tasks])


def _flat(task: Submission | Child) -> dict[str, Any]:
    fields = msgspec.structs.asdict(task)
    fields |= msgspec.structs.asdict(fields.pop("terms"))
    return fields
