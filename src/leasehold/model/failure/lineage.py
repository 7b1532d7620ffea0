"""The types of an error by name, nearest first: stored with a failed effect, so that a replay raises the same."""

import re
from typing import Final

LINEAGE_MAX: Final = 8
# `module:Class` or `module:Outer.Inner`; what is made inside a function cannot be found again and has no name.
NAMED: Final = re.compile(r"(?=.{1,200}\Z)[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*\Z")


def lineage_of(error: BaseException) -> list[str]:
    """Return the importable names of an error's types, without those that every exception has."""
    found: list[str] = []
    for kind in type(error).__mro__:
        if kind is Exception or len(found) == LINEAGE_MAX:
            break
        name = f"{kind.__module__}:{kind.__qualname__}"
        if NAMED.match(name):
            found.append(name)
    return found
