-- register_manual: Return the number of an owner of manual leases, which has no process.
-- It is stored as ended, so that nobody looks for its process.
-- Differs from PostgreSQL: the second step finds what the first has added, since no CTE may write here.
INSERT INTO main.worker (host, boot, namespace, pid, birth, started_at, ended_at)
SELECT :owner, '', '', 0, 0, leasehold_now(), leasehold_now()
WHERE NOT EXISTS (SELECT 1 FROM main.worker WHERE host = :owner AND boot = '' AND namespace = '' AND pid = 0);

SELECT min(id) AS id FROM main.worker WHERE host = :owner AND boot = '' AND namespace = '' AND pid = 0;
