"""Clocks of a worker's own for tests: one that goes on by a second at every look, and one that the test moves."""

from leasehold import clock


class Ticking:
    """However short a call to the database is, a look after it is later than a look before it."""

    def __init__(self) -> None:
        self.looks = [clock.uptime()]

    def __call__(self) -> int:
        self.looks.append(self.looks[-1] + clock.SECOND)
        return self.looks[-1]


class Moved:
    """It stands still until it is moved."""

    def __init__(self) -> None:
        self.now = clock.uptime()

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += clock.microseconds(seconds)
