"""Effects: what was done is on record and is not done again.

Recorded once; an act may run again if the script died between the act and its record.
"""

import json
from collections.abc import Callable
from typing import Any

from leasehold.pipelines.download.script_engine import engine, number_of

__all__ = ["get_effect_result", "run_effect"]


def run_effect(conn: object, *, job_id: str, kind: str, opkey: str, effect_fn: Callable[[], Any]) -> Any:
    """Return what is on record under `opkey` of this job; or call `effect_fn`, record what it returns and return that.

    What it raises is recorded as a failure and raised; the next call tries again. It runs under the lease that this
    process got with `lease_next_job`, which must last as long as it does; a job that nobody holds is held meanwhile.
    """
    with engine(conn) as found:
        number = number_of(job_id)
        found.job(number)
        if known := found.ask("result_by_op_and_job", op=opkey, job=str(number)):
            return json.loads(known[0][0])
        held, is_lasting = found.hold(number)
        try:  # without arguments, whatever the function could take
            return held.task.effect(kind, lambda: effect_fn(), idempotent=True, op=opkey)  # noqa: PLW0108
        finally:
            if not is_lasting:
                held.release()


def get_effect_result(conn: object, *, opkey: str) -> Any:
    """Return what is on record under `opkey`; None if nothing is: never begun, under way, abandoned or failed."""
    with engine(conn) as found:
        known = found.ask("result_by_op", op=opkey)
        return json.loads(known[0][0]) if known else None
