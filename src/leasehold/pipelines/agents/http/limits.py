"""Every limit, time-out and wait of the HTTP interface, in one place; each name has one meaning."""

from typing import Final

BODY_BYTES_MAX: Final = 1024 * 1024  # of one request; what is longer goes into a file, and the request names it
BODY_SECONDS: Final = 20.0  # for a body to arrive
REQUEST_SECONDS: Final = 30.0  # for a whole request to arrive, headers first
KEEP_ALIVE_SECONDS: Final = 30  # between two requests of one connection
CONNECTIONS_MAX: Final = 1_000
REQUESTS_MAX: Final = 64  # in work at once
THREADS_MAX: Final = 8  # that wait for the database
LIFECYCLE_THREADS_MAX: Final = 4  # that start and stop sessions
STREAMS_MAX: Final = 200  # of events, open at once
FOLLOW_SECONDS: Final = 0.2  # between two looks for new events
COMMENT_SECONDS: Final = 15.0  # after which a silent stream sends a comment, so that proxies keep it open
RECONNECT_MILLISECONDS: Final = 1_000  # before a client that lost its stream tries again
RETRY_AFTER_SECONDS: Final = 1  # before a request that was refused for now is tried again
STOP_SECONDS: Final = 10  # for requests under way, when the server stops
TOKEN_BYTES: Final = 32  # of randomness, in a token that is made
TOKEN_CHARACTERS_MIN: Final = 32
TOKEN_FILE_BYTES_MAX: Final = 4_096
STOPPED_AT_ONCE_MAX: Final = 16  # sessions, when the server stops
TAKEN_UP_AT_ONCE_MAX: Final = 4  # sessions of a server that is gone
LOCK_SECONDS: Final = 1.0  # that a spawn waits while its session is started or stopped
