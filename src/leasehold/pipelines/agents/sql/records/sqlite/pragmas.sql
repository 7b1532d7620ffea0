-- pragmas: Set up a connection to the engine's file.
-- Each setting is a statement of its own.
PRAGMA journal_mode = WAL;

PRAGMA synchronous = FULL;

PRAGMA fullfsync = ON;
