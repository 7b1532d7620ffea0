"""Every limit, time-out and wait of the review pipeline, in one place; each name has one meaning."""

from typing import Final

# What a model answers.
RESPONSE_BYTES_MAX: Final = 4 * 1024 * 1024  # what is larger is rejected unread
FINDINGS_MAX: Final = 10_000  # of one response; one with more is rejected
DIGITS_MAX: Final = 18  # of a line number, so that it fits into 64 bits
VERSION_DIGITS_MAX: Final = 9  # of one part of a version
SHOWN_MAX: Final = 500  # characters of a value in a diagnostic; of a longer one only its length is shown

# What is fetched.
FILES_MAX: Final = 2_000  # of one change; a larger one is refused
FILE_BYTES_MAX: Final = 1024 * 1024  # of one version of one file; a larger one is named and left out
CHANGE_BYTES_MAX: Final = 16 * 1024 * 1024  # of all hunks of a change; files beyond it are named and left out
PATH_CHARACTERS_MAX: Final = 4_096
COMMAND_SECONDS_MAX: Final = 60.0  # of one p4 or git command
LISTING_BYTES_MAX: Final = 8 * 1024 * 1024  # of the list of a change's files
RENAMES_MAX: Final = 400  # files among which git looks for renames

# Prompts.
CONTEXT_TOKENS: Final = 24_000  # of one prompt, where nothing else is configured
BYTES_PER_TOKEN: Final = 3  # an estimate on the safe side: most tokens of code are longer

# Roll-out.
GATE_SECONDS: Final = 30 * 60
GATE_RATIO: Final = 2  # how often the baseline's share of rejected responses a canary may have
