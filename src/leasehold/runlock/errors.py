"""The errors of a run lock, each with the exit code and the opening words of the runbook.

RunActive        2   another run is active: wait for it
LockInvalid      3   the file is not a valid lock: a person must inspect it
LockLost         3   it is no longer ours: stop, touch nothing
ReleaseRefused   3   the same, detected at the release
LockFailed       4   the system refused, or another process is in the way: read the message, then try again
"""

from typing import ClassVar

from leasehold.errors import Broken, LeaseholdError, Overtaken, Unavailable
from leasehold.runlock.constants import EXIT_ACTIVE_LOCK, EXIT_INVALID_LOCK, EXIT_LOCK_RACE


class RunLockError(LeaseholdError, code="RUN_LOCK"):
    """The run lock could not be had or kept."""

    exit_code: ClassVar[int]


class RunActive(RunLockError, Unavailable, code="RUN_ACTIVE"):
    """Run already active: fresh RUNNING.lock exists"""  # noqa: D415 — the runbook's words, which go on

    exit_code = EXIT_ACTIVE_LOCK


class LockInvalid(RunLockError, Broken, code="LOCK_INVALID"):
    """Invalid lock encountered:"""  # noqa: D415 — as above

    exit_code = EXIT_INVALID_LOCK


class LockLost(RunLockError, Overtaken, code="LOCK_LOST"):
    """Invalid lock encountered:"""  # noqa: D415 — as above

    exit_code = EXIT_INVALID_LOCK


class ReleaseRefused(RunLockError, Overtaken, code="RELEASE_REFUSED"):
    """Failed to release lock safely:"""  # noqa: D415 — as above

    exit_code = EXIT_INVALID_LOCK


class LockFailed(RunLockError, Unavailable, code="LOCK_FAILED"):
    """Failed to acquire RUNNING.lock:"""  # noqa: D415 — as above

    exit_code = EXIT_LOCK_RACE
