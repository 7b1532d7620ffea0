-- pragmas: Set up a connection.
-- Each setting is a statement of its own.
PRAGMA journal_mode = WAL;

PRAGMA synchronous = FULL;

PRAGMA journal_size_limit = 67108864;
