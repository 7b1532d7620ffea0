"""Make a failing run simpler: fewer choices that are not zero, found by trying."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Fails = Callable[[list[int]], bool]
TRIES_MAX = 400


def shrink(choices: Sequence[int], fails: Fails) -> list[int]:
    """Return the shortest list found with which the run still fails: harm is taken out in ever smaller pieces."""
    best = _trim(list(choices))
    tries = 0
    size = max(1, len(_harm(best)) // 2)
    while size >= 1 and tries < TRIES_MAX:
        harm = _harm(best)
        for start in range(0, len(harm), size):
            candidate = list(best)
            for index in harm[start : start + size]:
                candidate[index] = 0
            tries += 1
            if candidate != best and fails(candidate):
                best = _trim(candidate)
                break
            if tries >= TRIES_MAX:
                break
        else:
            size //= 2
    return best


def _harm(choices: Sequence[int]) -> list[int]:
    return [index for index, choice in enumerate(choices) if choice]


def _trim(choices: list[int]) -> list[int]:
    while choices and choices[-1] == 0:
        choices.pop()
    return choices
