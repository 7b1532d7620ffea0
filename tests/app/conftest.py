"""What these tests share: worker processes, and an app in the test's own process."""

from tests.support.processes.workers import app, outpost, workers

__all__ = ["app", "outpost", "workers"]
