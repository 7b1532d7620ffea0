"""Keys that are equal on every machine: of a job, and of each operation on it.

A key is the sha256, in hex, of canonical JSON: keys sorted, no blanks, ASCII escapes.
"""

import hashlib
import json
from contextlib import suppress
from typing import Any, Final

import msgspec

VERSION = 1
_PLAIN: Final = frozenset({str, int})
_encoder: Final = msgspec.json.Encoder(order="sorted")


def job_key(work_id: str, artifact_id: str, canonical_url: str) -> str:
    return _digest(kind="JOB", work_id=work_id, artifact_id=artifact_id, url=canonical_url, role="artifact")


def op_key(kind: str, job_id: str, **context: Any) -> str:
    if clash := {"v", "kind", "job_id"} & context.keys():
        raise ValueError(f"{min(clash)!r} is part of every key and cannot be a field")
    return _digest(kind=kind, job_id=job_id, **context)


def _digest(**fields: Any) -> str:
    return hashlib.sha256(_text({"v": VERSION, **fields})).hexdigest()


def _text(fields: dict[str, Any]) -> bytes:
    """Return the canonical JSON. A faster encoder writes the same where there are only texts of ASCII, and integers."""
    if _PLAIN.issuperset(map(type, fields.values())):
        with suppress(ValueError, OverflowError):  # half a surrogate pair, an integer of more than 64 bits
            text = _encoder.encode(fields)
            if text.isascii() and b"\x7f" not in text and b"\\u" not in text:  # these are written in other ways
                return text
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")
