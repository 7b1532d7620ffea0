"""Effects: what was done is on record and is not done again.

Recorded once; an act may run again if the script died between the act and its record.
"""

import json
import os
from collections.abc import Callable
from typing import Any

from leasehold import LeaseLost
from leasehold.pipelines.download._script import HOLDINGS, TTL_SECONDS, Engine, engine, number_of

__all__ = ["get_effect_result", "run_effect"]


def run_effect(conn: object, *, job_id: str, kind: str, opkey: str, effect_fn: Callable[[], Any]) -> Any:
    """Return what is on record under `opkey` of this job; or call `effect_fn`, record what it returns and return that.

    What it raises is recorded as a failure and raised; the next call tries again. It runs under the lease that this
    process got with `lease_next_job`, which must last as long as it does; a job that nobody holds is held meanwhile.
    """
    with engine(conn) as found:
        number = number_of(job_id)
        found.job(number)
        known = found.ask("result_by_op_and_job", op=opkey, job=str(number))
        if known:
            return json.loads(known[0][0])
        return _run(found, number, kind, opkey, effect_fn)


def get_effect_result(conn: object, *, opkey: str) -> Any:
    """Return what is on record under `opkey`; None if nothing is: never begun, under way, abandoned or failed."""
    with engine(conn) as found:
        known = found.ask("result_by_op", op=opkey)
        return json.loads(known[0][0]) if known else None


def _run(found: Engine, number: int, kind: str, opkey: str, effect_fn: Callable[[], Any]) -> Any:
    def act() -> Any:  # without arguments, whatever the function could take
        return effect_fn()

    manual = found.app.manual
    known = HOLDINGS.get(found, number)
    if known is None:
        held = manual.hold(number, owner=f"script {os.getpid()}", seconds=TTL_SECONDS)
        try:
            return held.task.effect(kind, act, idempotent=True, op=opkey)
        finally:
            held.release()
    mine = found.held(number, known)
    if mine is None:
        raise LeaseLost
    return mine.task.effect(kind, act, idempotent=True, op=opkey)
