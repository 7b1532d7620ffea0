-- register_manual: Return the number of an owner of manual leases, which has no process.
-- It is stored as ended, so that nobody looks for its process; and again, so that one in use is not removed as old.
-- Differs from PostgreSQL: the last step finds what the first has added, since no CTE may write here.
INSERT INTO main.worker (host, boot, namespace, pid, birth, started_at, ended_at)
SELECT :owner, '', '', 0, 0, leasehold_now(), leasehold_now()
WHERE NOT EXISTS (SELECT 1 FROM main.worker WHERE host = :owner AND boot = '' AND namespace = '' AND pid = 0);

UPDATE main.worker SET ended_at = leasehold_now()
WHERE host = :owner AND boot = '' AND namespace = '' AND pid = 0 AND ended_at < leasehold_now() - :kept;

SELECT min(id) AS id FROM main.worker WHERE host = :owner AND boot = '' AND namespace = '' AND pid = 0;
