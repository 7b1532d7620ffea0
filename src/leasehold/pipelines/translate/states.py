"""The states of a paragraph and the arrows between them, as the document has them."""

from typing import Final

INGESTED: Final = "ingested"
TRANSLATED_PASS1: Final = "translated_pass1"
REVIEWED_PASS1: Final = "reviewed_pass1"
REWORK_REQUIRED: Final = "rework_required"
TRANSLATED_PASS2: Final = "translated_pass2"
REVIEWED_PASS2: Final = "reviewed_pass2"
APPROVED: Final = "approved"
REJECTED: Final = "rejected"

# From here a paragraph goes on after its first pass, and again whenever somebody asks for another round.
REWORK_ARROWS: Final[dict[str, tuple[str, ...]]] = {
    REWORK_REQUIRED: (TRANSLATED_PASS2,),
    TRANSLATED_PASS2: (REVIEWED_PASS2,),
    REVIEWED_PASS2: (APPROVED, REWORK_REQUIRED, REJECTED),
}
ARROWS: Final[dict[str, tuple[str, ...]]] = {
    INGESTED: (TRANSLATED_PASS1,),
    TRANSLATED_PASS1: (REVIEWED_PASS1,),
    REVIEWED_PASS1: (APPROVED, REWORK_REQUIRED),
    **REWORK_ARROWS,
}
ENDS: Final = (APPROVED, REJECTED)
STATES: Final = (*ARROWS, *ENDS)
