"""What users may use in their own tests.

A clock that is set by hand, and (as a pytest plugin) the `leasehold_app` fixture.
"""

from leasehold.testing.clock import Clock

__all__ = ["Clock"]
