"""What these tests share: worker processes, and an app in the test's own process."""

from tests.workshop.crew import app, crew, outpost

__all__ = ["app", "crew", "outpost"]
