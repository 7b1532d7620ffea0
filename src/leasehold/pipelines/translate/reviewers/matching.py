"""Things to pair, by any of their values, each at most once: how what is wanted finds what is there in one pass."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence


class MatchIndex:
    """Places by value; `used` may be shared by stocks of the same things."""

    def __init__(self, things: Sequence[Collection[Hashable]], used: set[int]) -> None:
        self._used = used
        self._places: dict[Hashable, list[int]] = defaultdict(list)
        for place in range(len(things) - 1, -1, -1):
            for value in things[place]:
                self._places[value].append(place)

    def take(self, values: Iterable[Hashable]) -> int | None:
        """Return the first free place of the first value that has one, and hold it."""
        for value in values:
            places = self._places.get(value, [])
            while places:
                place = places.pop()
                if place not in self._used:
                    self._used.add(place)
                    return place
        return None
