"""Batches as one JSON document each: a single parameter is far faster than many, on both databases."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json
from msgspec.structs import asdict

from leasehold.model.task import Child, Submission

_encoder = json.Encoder()


def document(items: Sequence[object]) -> str:
    """Return a batch of structs, numbers or names as one JSON text."""
    return _encoder.encode(items).decode("utf-8")


def flat_document(tasks: Iterable[Submission | Child]) -> str:
    """Return jobs, stages or segments as one JSON text, each with the fields of its terms among its own."""
    return document([_flat(task) for task in tasks])


def _flat(task: Submission | Child) -> dict[str, Any]:
    fields = asdict(task)
    return fields | asdict(fields.pop("terms"))
