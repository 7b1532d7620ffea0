-- pragmas: Set up a connection of our own.
-- Each setting is a statement.
PRAGMA journal_mode = WAL;

PRAGMA synchronous = FULL;

PRAGMA temp_store = MEMORY;

PRAGMA cache_size = -65536;
