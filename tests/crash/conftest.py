"""What these tests share: worker processes, and an app in the test's own process."""

from tests.support.processes.workers import app, crew, outpost

__all__ = ["app", "crew", "outpost"]
