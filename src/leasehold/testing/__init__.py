"""What users may use in their own tests.

A clock that is set by hand, `drain` which moves it, and (as a pytest plugin) the fixtures `leasehold_app` and
`leasehold_clock`.
"""

from leasehold.testing.clock import Clock
from leasehold.testing.draining import drain

__all__ = ["Clock", "drain"]
