-- register_manual: Return the number of an owner of manual leases, which has no process.
-- It is stored as ended, so that nobody looks for its process; and again, so that one in use is not removed as old.
WITH known AS MATERIALIZED (
    SELECT min(id) AS id FROM leasehold.worker WHERE host = %(owner)s AND boot = '' AND namespace = '' AND pid = 0
),
used AS (
    UPDATE leasehold.worker SET ended_at = leasehold.leasehold_now() FROM known
    WHERE worker.id = known.id AND worker.ended_at < leasehold.leasehold_now() - %(kept)s::bigint
    RETURNING worker.id
),
added AS (
    INSERT INTO leasehold.worker (host, boot, namespace, pid, birth, started_at, ended_at)
    SELECT %(owner)s, '', '', 0, 0, leasehold.leasehold_now(), leasehold.leasehold_now() FROM known
    WHERE known.id IS NULL
    RETURNING id
)
SELECT coalesce((SELECT id FROM used), (SELECT id FROM known), (SELECT id FROM added)) AS id
