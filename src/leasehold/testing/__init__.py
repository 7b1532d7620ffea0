"""What users may use in their own tests.

A clock that stands still until it is set, `drain` which moves it, `elsewhere` which has an app use another database for
a while, `crash_at` and `crash_matrix` which crash attempts at each point of their effects, and (as a pytest plugin) the
fixtures `leasehold_app`, `leasehold_url`, `leasehold_clock`, `leasehold_postgres_url` and `leasehold_crash_matrix`.
"""

from leasehold.testing.clock import Clock, drain
from leasehold.testing.crashing import Crash, Matrix, crash_at, crash_matrix
from leasehold.testing.elsewhere import AdoptingApp, elsewhere

__all__ = ["AdoptingApp", "Clock", "Crash", "Matrix", "crash_at", "crash_matrix", "drain", "elsewhere"]
