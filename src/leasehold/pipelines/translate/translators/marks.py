"""Marks: ⟦1⟧, ⟦2⟧ … stand in a text for what a translation must not change."""

import re
from collections import Counter
from typing import Final

MARK: Final = re.compile(r"⟦[1-9][0-9]{0,5}⟧")
_SHOWN_MAX: Final = 5


def marks_amiss(source: str, candidate: str) -> str:
    """Return in words which marks the candidate does not hold as often as the source; empty if all is well."""
    wanted, found = Counter(MARK.findall(source)), Counter(MARK.findall(candidate))
    differences = [
        f"{mark} stands {found[mark]} times instead of {wanted[mark]}"
        for mark in sorted(wanted.keys() | found.keys(), key=lambda mark: int(mark[1:-1]))
        if wanted[mark] != found[mark]
    ]
    more = len(differences) - _SHOWN_MAX
    return ", ".join(differences[:_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")
