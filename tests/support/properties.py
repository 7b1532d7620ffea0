"""How property tests draw: in `make test` the same examples every time, in `make soak` others, and more of them.

So a change is never refused for a fault that was there before it. `LEASEHOLD_EXAMPLES=20` draws at random, and 20 times
as many as a test asks for; add `--hypothesis-seed` to repeat such a run.
"""

import os

from hypothesis import settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants

TIMES = "LEASEHOLD_EXAMPLES"
DEFAULT = 100  # Hypothesis' own


def load_profile() -> None:
    """Set how examples are drawn in this process; tests that are defined later inherit it."""
    if os.environ.get(TIMES):
        many = examples(DEFAULT)
        settings.register_profile("soak", deadline=None, derandomize=False, print_blob=True, max_examples=many)
        settings.load_profile("soak")
    else:
        settings.register_profile("test", deadline=None, derandomize=True, database=None, max_examples=DEFAULT)
        settings.load_profile("test")
        # Else it also draws constants of the modules that are imported by then, which differ from run to run.
        HypothesisProvider._local_constants = Constants()  # type: ignore[assignment]  # noqa: SLF001


def examples(count: int) -> int:
    """Return how many examples to draw where `make test` draws so many."""
    return count * int(os.environ.get(TIMES) or 1)
