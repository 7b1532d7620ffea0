-- schema: What is on disk, with its words; which artifacts were fetched again; and operations that were abandoned.
-- The words are kept by triggers, since the table they stand for is the artifacts' own.
CREATE TABLE IF NOT EXISTS artifact (
    key TEXT PRIMARY KEY, work_id TEXT NOT NULL, artifact_id TEXT NOT NULL, url TEXT NOT NULL, host TEXT NOT NULL,
    name TEXT NOT NULL, path TEXT NOT NULL, media_type TEXT, size INTEGER NOT NULL, sha256 TEXT NOT NULL,
    state TEXT NOT NULL, fetched_at REAL NOT NULL, reason TEXT) STRICT;

CREATE INDEX IF NOT EXISTS artifact_content ON artifact (sha256);

CREATE VIRTUAL TABLE IF NOT EXISTS artifact_text USING fts5 (
    name, host, work_id, artifact_id, url, content = 'artifact', tokenize = 'unicode61');

CREATE TRIGGER IF NOT EXISTS artifact_added AFTER INSERT ON artifact BEGIN
    INSERT INTO artifact_text (rowid, name, host, work_id, artifact_id, url)
    VALUES (new.rowid, new.name, new.host, new.work_id, new.artifact_id, new.url); END;

CREATE TRIGGER IF NOT EXISTS artifact_gone AFTER DELETE ON artifact BEGIN
    INSERT INTO artifact_text (artifact_text, rowid, name, host, work_id, artifact_id, url)
    VALUES ('delete', old.rowid, old.name, old.host, old.work_id, old.artifact_id, old.url); END;

CREATE TABLE IF NOT EXISTS rerun (key TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT;

CREATE TABLE IF NOT EXISTS abandoned (
    key TEXT NOT NULL, kind TEXT NOT NULL, began_at REAL NOT NULL, marked_at REAL NOT NULL,
    PRIMARY KEY (key, kind, began_at)) STRICT;

CREATE TABLE IF NOT EXISTS folder (number INTEGER PRIMARY KEY, id TEXT NOT NULL) STRICT;
