"""The states of an artifact's job and the arrows between them, as the document has them; only forward."""

from __future__ import annotations

from typing import Final

PLANNED: Final = "PLANNED"
LEASED: Final = "LEASED"
HEAD_DONE: Final = "HEAD_DONE"
RESUME_OK: Final = "RESUME_OK"
STREAMING: Final = "STREAMING"
FINALIZED: Final = "FINALIZED"
INDEXED: Final = "INDEXED"
DEDUPED: Final = "DEDUPED"
FAILED: Final = "FAILED"
SKIPPED_DUPLICATE: Final = "SKIPPED_DUPLICATE"

ARROWS: Final[dict[str, tuple[str, ...]]] = {
    PLANNED: (LEASED, SKIPPED_DUPLICATE),
    LEASED: (HEAD_DONE, FAILED, SKIPPED_DUPLICATE),
    HEAD_DONE: (RESUME_OK, STREAMING, FAILED, SKIPPED_DUPLICATE),
    RESUME_OK: (STREAMING, FAILED),
    STREAMING: (FINALIZED, FAILED),
    FINALIZED: (INDEXED, DEDUPED),
}
STATES: Final = (
    PLANNED,
    LEASED,
    HEAD_DONE,
    RESUME_OK,
    STREAMING,
    FINALIZED,
    INDEXED,
    DEDUPED,
    FAILED,
    SKIPPED_DUPLICATE,
)
ENDS: Final = (INDEXED, DEDUPED, FAILED, SKIPPED_DUPLICATE)
