-- 0004_chain: The hash chain over each task's events; its head stands where the task stands.
CREATE FUNCTION leasehold.chain_root(kind text, stage text, segment integer, key text, payload text, item text)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT substr(sha256(convert_to(kind || chr(31) || coalesce(stage, '') || chr(31) || coalesce(segment::text, '')
    || chr(31) || coalesce(key, '') || chr(31) || coalesce(payload, '') || chr(31) || coalesce(item, ''), 'UTF8')), 1, 16) $$;

CREATE FUNCTION leasehold.chain_link(
    mark bytea, at bigint, name text, fence integer, attempt integer, worker integer, detail text)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT substr(sha256(coalesce(mark, ''::bytea) || convert_to(at::text || '|' || name || '|' || coalesce(fence::text, '')
    || '|' || coalesce(attempt::text, '') || '|' || coalesce(worker::text, '') || '|' || coalesce(detail, ''), 'UTF8')), 1, 16) $$;

ALTER TABLE leasehold.waiting ADD COLUMN mark bytea;
ALTER TABLE leasehold.ready ADD COLUMN mark bytea;
ALTER TABLE leasehold.lease ADD COLUMN mark bytea;
ALTER TABLE leasehold.outcome ADD COLUMN mark bytea;
ALTER TABLE leasehold.event ADD COLUMN mark bytea;
ALTER TABLE leasehold.outcome_past ADD COLUMN mark bytea;

CREATE INDEX event_order ON leasehold.event USING brin (id) WITH (pages_per_range = 16, autosummarize = on);
