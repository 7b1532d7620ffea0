"""The invariants that can be read off the tables at any moment, whatever happened before: the oracle's own checks."""

from collections.abc import Callable
from typing import Any

from leasehold.store import Store
from tests.store.work import look, looking
from tests.support.oracle.oracle import CHECKS, Evidence

# The other checks need a witness, or that all has come to its end.
AT_ANY_MOMENT = ("S1", "S3", "S5", "S6", "S7", "S8", "S9", "S13", "links")


def check_everything(store: Store, before: dict[Any, Any] | None = None) -> dict[Any, Any]:
    """Check what the tables alone can show; return the outcomes, to be given as `before` next time."""
    with looking(store) as see:
        evidence = Evidence(see, [], has_settled=False)
        wrong = [f"{name}: {finding}" for name in AT_ANY_MOMENT for finding in CHECKS[name](evidence)]
        assert not wrong, wrong
        settled = outcomes(see)
        for key, row in (before or {}).items():
            assert settled[key] == row, "S5: an outcome was changed"
        assert all(unmet >= 0 for (unmet,) in see("SELECT unmet FROM waiting"))
    return settled


def outcomes(see: Callable[[str], list[tuple[Any, ...]]]) -> dict[Any, Any]:
    """Every outcome there ever was, by task and epoch: a revival moves it to the past as it is."""
    found: dict[Any, Any] = {}
    for table in ("outcome", "outcome_past"):
        for row in see(f"SELECT task_id, epoch, fence, status, output, failure, finished_at FROM {table}"):  # noqa: S608
            found[row[:2]] = row
    return found


def slots_taken(store: Store, queue: str) -> int:
    return look(store, f"SELECT count(*) FROM slot WHERE queue = '{queue}' AND task_id IS NOT NULL")[0][0]  # noqa: S608
