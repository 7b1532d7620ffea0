-- pragmas: Set up a connection of our own.
-- Each setting is a statement. On macOS a sync reaches the disk itself only with fullfsync; elsewhere it has no effect.
PRAGMA journal_mode = WAL;

PRAGMA synchronous = FULL;

PRAGMA fullfsync = ON;

PRAGMA checkpoint_fullfsync = ON;

PRAGMA temp_store = MEMORY;

PRAGMA cache_size = -65536;

PRAGMA journal_size_limit = 67108864;
