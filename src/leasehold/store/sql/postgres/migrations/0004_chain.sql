-- 0004_chain: The hash chain over each task's events; its head stands where the task stands.
CREATE FUNCTION leasehold.chain_root(
    kind text, stage text, segment integer, epoch smallint, parent_id bigint, each_field text, queue text, priority smallint,
    attempts_max smallint, lease_ms integer, on_lost text, unmet integer, payload text, item text, key text)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT substr(sha256(convert_to(kind || chr(31) || coalesce(stage, '') || chr(31) || coalesce(segment::text, '')
    || chr(31) || epoch::text || chr(31) || coalesce(parent_id::text, '') || chr(31) || coalesce(each_field, '')
    || chr(31) || queue || chr(31) || priority::text || chr(31) || attempts_max::text || chr(31) || lease_ms::text
    || chr(31) || on_lost || chr(31) || unmet::text || chr(31) || coalesce(payload, '') || chr(31) || coalesce(item, '')
    || chr(31) || coalesce(key, ''), 'UTF8')), 1, 16) $$;

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
