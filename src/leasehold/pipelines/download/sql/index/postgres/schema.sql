-- schema: What is on disk, with its words; which artifacts were fetched again; and operations that were abandoned.
-- Definitions are several statements; a lock keeps two that begin at once from making them twice.
SELECT pg_advisory_xact_lock(7331042);

CREATE SCHEMA IF NOT EXISTS download;

CREATE TABLE IF NOT EXISTS download.artifact (
    key text PRIMARY KEY, work_id text NOT NULL, artifact_id text NOT NULL, url text NOT NULL, host text NOT NULL,
    name text NOT NULL, path text NOT NULL, media_type text, size bigint NOT NULL, sha256 text NOT NULL,
    state text NOT NULL, fetched_at double precision NOT NULL, reason text,
    words text NOT NULL, lexemes tsvector GENERATED ALWAYS AS (to_tsvector('simple', words)) STORED);

CREATE INDEX IF NOT EXISTS artifact_content ON download.artifact (sha256);

CREATE INDEX IF NOT EXISTS artifact_lexemes ON download.artifact USING gin (lexemes);

CREATE TABLE IF NOT EXISTS download.rerun (key text PRIMARY KEY, version bigint NOT NULL);

CREATE TABLE IF NOT EXISTS download.abandoned (
    key text NOT NULL, kind text NOT NULL, began_at double precision NOT NULL, marked_at double precision NOT NULL,
    PRIMARY KEY (key, kind, began_at));

CREATE TABLE IF NOT EXISTS download.folder (number integer PRIMARY KEY, id text NOT NULL);
