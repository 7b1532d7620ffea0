"""Every limit, time-out and wait of the agents pipeline, in one place; each name has one meaning."""

from typing import Final

# The plan.
PLAN_BYTES_MAX: Final = 16 * 1024 * 1024
CHILDREN_MAX: Final = 10_000
ACTIVE_CHILDREN_MAX: Final = 2  # of the locked contract
INPUT_BYTES_MAX: Final = 1024 * 1024  # of one child's input, as JSON
SPEC_BYTES_MAX: Final = 128 * INPUT_BYTES_MAX  # of all that one child is to do: a thousand arguments may be long
ARGUMENTS_MAX: Final = 1_000
ARGUMENT_BYTES_MAX: Final = 64 * 1024  # the kernel refuses more than 128 KiB
VARIABLES_MAX: Final = 200
BUDGET_MAX: Final = 10**15
TIMEOUT_SECONDS_MAX: Final = 7 * 86_400

# What a child prints.
LINE_BYTES_MAX: Final = 2 * 1024 * 1024  # what is longer is cut
READ_BYTES: Final = 256 * 1024
TOKENS_MAX: Final = 10**9  # of one usage message
CALL_ID_MAX: Final = 128
PROGRESS_MAX: Final = 2_000  # characters; what is longer is cut
OUTPUT_BYTES_MAX: Final = 1024 * 1024  # of a result, as JSON
STDOUT_RESULT_BYTES_MAX: Final = 256 * 1024  # of the output of a command that sends no result
ANSWERS_BYTES_MAX: Final = 64 * 1024  # that wait for a child to read them, before its output is left unread

# How a child is stopped.
GRACE_SECONDS: Final = 2.0  # between SIGTERM and SIGKILL
GUARD_SECONDS: Final = 10.0  # for the guard to report the end of a tree, beyond the grace
LOOK_SECONDS: Final = 0.5  # between two looks at a guard that does not report

# Evidence.
EVIDENCE_BYTES_MAX: Final = 64 * 1024 * 1024  # of one child, standard output and error together
REDACTION_BLOCK: Final = 256 * 1024  # characters that are cleaned at once
REDACTION_WINDOW: Final = 32 * 1024  # characters around a line that are looked at with it

# Transcripts of known programs.
RESULT_TEXT_MAX: Final = 256 * 1024  # characters; what is longer is cut
MESSAGE_IDS_MAX: Final = 1_000  # that are remembered, so that a message is counted once

# The stop gate.
FIXTURE_SECONDS: Final = 300  # for one execution of a fixture, which takes less than one

# Work trees.
DIFF_BYTES_MAX: Final = 64 * 1024 * 1024

# The coordinator.
LEASE_SECONDS: Final = 30.0  # of a session and of its active children; its own process being gone ends them at once
RENEW_SECONDS: Final = 5.0
LEASE_MARGIN_SECONDS: Final = 5.0  # so long before a lease ends that could not be renewed, everything is stopped
SIGNAL_SECONDS: Final = 0.2  # between two looks at what other processes have asked for
SNAPSHOT_SECONDS: Final = 0.25  # between two pictures for a board
PROGRESS_SECONDS: Final = 1.0  # between two reports of a child's progress to the engine
TAKE_OVER_SECONDS: Final = 90.0  # for the lease of a session whose coordinators died several times
OUTPUT_STORED_MAX: Final = 512 * 1024  # bytes of a result that the database keeps; its file always has all of it
MESSAGE_MAX: Final = 300  # characters of what an end explains
