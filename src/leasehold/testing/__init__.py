"""What users may use in their own tests.

A clock that stands still until it is set, `drain` which moves it, `crash_at` and `crash_matrix` which crash attempts at
each point of their effects, and (as a pytest plugin) the fixtures `leasehold_app`, `leasehold_clock` and
`leasehold_crash_matrix`.
"""

from leasehold.testing.clock import Clock, drain
from leasehold.testing.crashing import Crash, Matrix, crash_at, crash_matrix

__all__ = ["Clock", "Crash", "Matrix", "crash_at", "crash_matrix", "drain"]
