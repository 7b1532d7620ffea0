"""What the redactor finds, what it hides needlessly, and how fast it is: `python -m bench.redact`."""

from bench.redact.speed import QUICK_SIZE, SIZE, measure

__all__ = ["QUICK_SIZE", "SIZE", "measure"]
