"""The states of an artifact's job and the arrows between them, as the document has them; only forward."""

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
FINAL_MISSING: Final = "final_missing"  # no state: an artifact whose file was here and is gone

ARROWS: Final[dict[str, tuple[str, ...]]] = {
    PLANNED: (LEASED, SKIPPED_DUPLICATE),
    LEASED: (HEAD_DONE, FAILED, SKIPPED_DUPLICATE),
    HEAD_DONE: (RESUME_OK, STREAMING, FAILED, SKIPPED_DUPLICATE),
    RESUME_OK: (STREAMING, FAILED),
    STREAMING: (FINALIZED, FAILED),
    FINALIZED: (INDEXED, DEDUPED),
}
UNFINISHED: Final = tuple(ARROWS)
DOWNLOADED: Final = (INDEXED, DEDUPED, SKIPPED_DUPLICATE)
STATES: Final = (*UNFINISHED, INDEXED, DEDUPED, FAILED, SKIPPED_DUPLICATE)
