"""The exit codes of the command, and which error leads to which."""

from enum import IntEnum

from leasehold.errors import LeaseholdError, Misuse, Overtaken, Unavailable


class ExitCode(IntEnum):
    """How the command ended. Programs may rely on these numbers."""

    OK = 0
    CHECK_FAILED = 1
    MISUSE = 2
    UNAVAILABLE = 3
    OVERTAKEN = 4
    BROKEN = 5
    INTERRUPTED = 130
    READER_GONE = 141
    TERMINATED = 143


MEANINGS = {
    ExitCode.OK: "success",
    ExitCode.CHECK_FAILED: "the command ran, and found a problem: the tour lost something, the doctor found trouble,"
    " verify found a difference, a row of a run breaks its contract, a replay diverged, the job that was waited for did"
    " not end DONE, the job to cancel had already ended, a letter was refused or would be; or a second signal stopped a"
    " worker at once",
    ExitCode.MISUSE: "the command or its input must be changed",
    ExitCode.UNAVAILABLE: "the database cannot be reached, or a wait took too long: try again",
    ExitCode.OVERTAKEN: "another process was faster, or the job has ended: nothing was changed",
    ExitCode.BROKEN: "an invariant does not hold: stop and investigate",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C (143: with SIGTERM; 141: the reader of the output has gone)",
}


def exit_code_of(error: LeaseholdError) -> ExitCode:
    """Return the code for an error: its class names who must act."""
    codes: dict[type[LeaseholdError], ExitCode]
    codes = {Misuse: ExitCode.MISUSE, Unavailable: ExitCode.UNAVAILABLE, Overtaken: ExitCode.OVERTAKEN}
    return next((code for kind, code in codes.items() if isinstance(error, kind)), ExitCode.BROKEN)
